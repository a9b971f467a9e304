# SPDX-License-Identifier: Apache-2.0
"""The fields of a data class as named options: their names, help, and how their values are read.

The command line and `numascape.record` are made from this, so that an option is written once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from numascape.errors import NumascapeError

_KEY: Final = "option"
_ARTICLES: Final = {int: "a whole number", float: "a number", str: "a text", bool: "True or False"}


def option(
    default: Any,
    help_text: str,
    *,
    metavar: str | None = None,
    default_text: str | None = None,
    read: Callable[[str], Any] | None = None,
    former: str | None = None,
) -> Any:
    """A field that is an option.

    `default_text` is the default in the help, if it is not seen from `help_text`. `read` makes the
    value from a text, if it is of a class, or a number or a word. `former` is an older name, which
    is not shown.
    """
    texts = {
        "help": help_text,
        "metavar": metavar,
        "default_text": default_text,
        "read": read,
        "former": former,
    }
    return dataclasses.field(default=default, metadata={_KEY: texts})


@dataclass(frozen=True)
class NamedOption:
    """An option: `type` is that of its value as a user gives it, without None."""

    name: str
    type: Any
    default: Any
    help: str
    metavar: str | None
    default_text: str | None
    read: Callable[[str], Any] | None
    former: str | None

    @property
    def word_type(self) -> Any:
        """The type of the value that a word of the command line gives."""
        return str if self.read is not None else self.type

    @property
    def switches(self) -> dict[str, bool]:
        """The words for this option if it needs no value, and the value that each word sets."""
        if self.type is not bool:
            return {}
        words = {self.flag: True}
        return {**words, _no(self.flag): False} if self.default else words

    @property
    def former_switches(self) -> dict[str, bool]:
        """The `switches` with the older name."""
        if self.former is None or self.type is not bool:
            return {}
        flag = _flag(self.former)
        return {flag: True, _no(flag): False}

    @property
    def flag(self) -> str:
        """The option on the command line."""
        return _flag(self.name)

    def value_of(self, given: Any) -> Any:
        """The value of the field; NumascapeError if `given` cannot be one."""
        if self.read is not None and isinstance(given, str):
            return self.read(given)
        words = get_args(self.type) if get_origin(self.type) is Literal else ()
        if words:
            if given not in words:
                raise NumascapeError(f"{self.name} {given}: choose one of {', '.join(words)}")
            return given
        numbers = self.type is float or float in get_args(self.type)
        accepted = (int, float) if numbers else self.type
        if not isinstance(given, accepted) or (isinstance(given, bool) and self.type is not bool):
            article = _ARTICLES[float if numbers else self.type]
            raise NumascapeError(f"{self.name} {given!r}: give {article}")
        return given

    def read_word(self, word: str) -> Any:
        """The value that a word of the command line gives; ValueError if it gives none."""
        if get_origin(self.type) is Literal:
            if word not in get_args(self.type):
                raise ValueError(word)
            return word
        return self.word_type(word)


def named_options(kind: type) -> dict[str, NamedOption]:
    """The options of a data class, by name, in its order."""
    hints = get_type_hints(kind)
    options = {}
    for field in dataclasses.fields(kind):
        texts = field.metadata.get(_KEY)
        if texts is not None:
            given = _given(hints[field.name], has_reader=texts["read"] is not None)
            options[field.name] = NamedOption(field.name, given, field.default, **texts)
    return options


def values_of(kind: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of `kind` for these values as a user gave them; None stands for the default.

    Raises NumascapeError if there is no such option, or if it cannot have the value.
    """
    options = named_options(kind)
    former = {one.former: one.name for one in options.values() if one.former is not None}
    values = {}
    for word, value in given.items():
        name = former.get(word, word)
        if name not in options:
            raise NumascapeError(f"no option {word!r}: choose from {', '.join(options)}")
        if value is not None:
            values[name] = options[name].value_of(value)
    return values


def _given(hint: Any, *, has_reader: bool) -> Any:
    """The type of a value as a user gives it, without None."""
    if has_reader:
        return float | str if float in get_args(hint) else str
    if type(None) in get_args(hint):
        (hint,) = [one for one in get_args(hint) if one is not type(None)]
    return hint


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _no(flag: str) -> str:
    return f"--no-{flag.removeprefix('--')}"
