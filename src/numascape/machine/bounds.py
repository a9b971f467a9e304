# SPDX-License-Identifier: Apache-2.0
"""The bounds of the fields of documents, and a check of what is to be written.

pydantic reads the same bounds when it checks a document of others. Loading pydantic takes longer
than a short program runs, so what Numascape itself writes is checked here.
"""

from __future__ import annotations

import dataclasses
import math
import operator
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final

_HOLDS: Final = {"ge": operator.ge, "gt": operator.gt, "le": operator.le, "lt": operator.lt}
_SAID: Final = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
_LARGEST: Final = (1 << 64) - 1


class Bounds:
    """Bounds of a finite number, or of the length of a text: metadata of `typing.Annotated`.

    The names are those of pydantic: ge, gt, le, lt, max_length.
    """

    def __init__(self, **bounds: float) -> None:
        self._bounds = bounds

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """The schema of the field for pydantic."""
        schema = {**handler(source), **self._bounds}
        if schema["type"] == "float":
            schema["allow_inf_nan"] = False
        return schema

    def breach(self, value: float | str) -> str | None:
        """The error in a value; None if there is none."""
        if isinstance(value, str):
            longest = self._bounds.get("max_length", math.inf)
            return f"longer than {longest} characters" if len(value) > longest else None
        if not math.isfinite(value):
            return "not a finite number"
        for name, bound in self._bounds.items():
            if not _HOLDS[name](value, bound):
                return f"not {_SAID[name]} {bound}"
        return None


class FitsIn64Bits:
    """Metadata of an integer that has at most 64 bits."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """The schema of the field for pydantic."""
        function = {"type": "no-info", "function": _checked}
        return {"type": "function-after", "function": function, "schema": handler(source)}

    def breach(self, value: int) -> str | None:
        """The error in a value; None if there is none."""
        return "greater than 2^64 - 1" if value > _LARGEST else None


def _checked(value: int) -> int:
    if value > _LARGEST:
        raise ValueError("greater than 2^64 - 1")
    return value


def first_breach(document: Any) -> str | None:
    """The first field of a dataclass with a wrong value, and what is wrong; None if all is right.

    Values have the types of their fields, because mypy has checked the code that made them.
    """
    return next(_breaches(document, type(document), ""), None)


def _breaches(value: Any, hint: Any, place: str) -> Iterator[str]:
    """The wrong values in `value`, whose type is `hint`."""
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        kind, *metadata = typing.get_args(hint)
        for bounds in metadata:
            if (wrong := bounds.breach(value)) is not None:
                yield f"{place}: {wrong}"
        yield from _breaches(value, kind, place)
    elif origin in (typing.Union, types.UnionType):
        inner = [kind for kind in typing.get_args(hint) if kind is not types.NoneType]
        if value is not None and len(inner) == 1:
            yield from _breaches(value, inner[0], place)
    elif dataclasses.is_dataclass(value):
        for name, of_field in _fields(hint).items():
            yield from _breaches(getattr(value, name), of_field, f"{place}.{name}".lstrip("."))
    elif origin is tuple:
        kinds = typing.get_args(hint)
        for index, item in enumerate(value):
            kind = kinds[0] if kinds[-1] is ... else kinds[index]
            yield from _breaches(item, kind, f"{place}.{index}")
    elif origin is dict:
        for key, item in value.items():
            yield from _breaches(item, typing.get_args(hint)[1], f"{place}.{key}")


@cache
def _fields(kind: Any) -> Mapping[str, Any]:
    return typing.get_type_hints(kind, include_extras=True)
