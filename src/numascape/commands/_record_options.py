# SPDX-License-Identifier: Apache-2.0
"""The options of a recording as those of a command, made from the fields of RecordOptions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer

from numascape.recording.option_fields import NamedOption, named_options
from numascape.recording.options import RecordOptions, record_options


def with_record_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with all options of RecordOptions behind its own; it gets them as `options`."""
    own = inspect.signature(command, eval_str=True)
    before = [parameter for name, parameter in own.parameters.items() if name != "options"]
    options = [
        parameter
        for one in named_options(RecordOptions).values()
        for parameter in _parameters_of(one)
    ]
    names = [parameter.name for parameter in options]

    @functools.wraps(command)
    def with_options(**given: Any) -> None:
        asked = record_options({name: given.pop(name) for name in names if name in given})
        command(**given, options=asked)

    parameters = [*before, *options]
    signature = own.replace(parameters=parameters)
    types = {parameter.name: parameter.annotation for parameter in parameters}
    # Typer reads these two.
    vars(with_options).update(__signature__=signature)
    with_options.__annotations__ = types
    return with_options


def _parameters_of(one: NamedOption) -> Iterator[inspect.Parameter]:
    shown: bool | str = one.default_text or (one.type is bool and bool(one.default))
    yield _parameter(
        one.name,
        one.type if one.type is bool else one.word_type | None,
        one.default,
        typer.Option(
            "/".join(one.switches) or one.flag,
            help=one.help,
            metavar=one.metavar,
            show_default=shown,
        ),
    )
    if one.former is not None:
        words = "/".join(one.former_switches) or f"--{one.former}"
        yield _parameter(one.former, one.type | None, None, typer.Option(words, hidden=True))


def _parameter(name: str, kind: Any, default: Any, declared: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, declared],
    )
