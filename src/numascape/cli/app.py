# SPDX-License-Identifier: Apache-2.0
"""The verbs of the command `numascape`, as Typer parses them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Annotated, Final

import typer
from typer.main import get_command

from numascape import terminal
from numascape.cli.first_words import typed_instead
from numascape.cli.installed_parts import describe_parts
from numascape.cli.kept_memory import keep_freed_memory
from numascape.installation import installed_version

# Each verb is a module of numascape.commands. They are in the order of the help.
_VERBS: Final = (
    "record",
    "run",
    "report",
    "view",
    "show",
    "advise",
    "compare",
    "plot",
    "export",
    "convert",
    "merge",
    "import",
    "balance",
    "predict",
    "pages",
    "move",
    "tune",
)
# Each of these is a package, with a module for each of its own verbs.
_GROUPS: Final = ("machine", "host")
# Options after the program's name belong to the program, with or without `--` before it.
_OF_PROGRAM: Final = {"allow_interspersed_args": False}
_RUN_A_PROGRAM: Final = ("record", "run")
# These compute with all rows of a recording.
_COMPUTE: Final = ("report", "view", "show", "advise", "compare", "plot", "predict")


def _print_version(wanted: bool) -> None:
    if wanted:
        print("\n".join([f"numascape {installed_version()}", *describe_parts()]))
        raise typer.Exit


def numascape_command(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the versions of Numascape and its parts.",
        ),
    ] = False,
) -> None:
    """See how a program uses memory on a NUMA machine, and why it is slow.

    Record a program, then look at the report:

    `numascape record -o run.numascape -- ./program`

    `numascape report run.numascape`
    """


def build_app(verbs: Sequence[str] = (*_VERBS, *_GROUPS)) -> typer.Typer:
    """The command with these verbs. Each verb takes time, because its module is loaded."""
    app = typer.Typer(
        name="numascape",
        rich_markup_mode="markdown",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(numascape_command)
    for verb in verbs:
        if verb in _GROUPS:
            app.add_typer(_group(verb))
            continue
        name = "import_" if verb == "import" else verb
        settings = _OF_PROGRAM if verb in _RUN_A_PROGRAM else {}
        function = getattr(import_module(f"numascape.commands.{name}"), name)
        app.command(name=verb, context_settings=settings)(function)
    return app


def _group(name: str) -> typer.Typer:
    group: typer.Typer = import_module(f"numascape.commands.{name}").app
    return group


@cache
def _runner(verbs: tuple[str, ...]) -> Callable[..., object]:
    """Parses and runs command lines of these verbs, or of all. The result is cached."""
    return get_command(build_app(verbs) if verbs else build_app()).main


def run_verb(arguments: list[str]) -> int:
    """Run one command line and return the exit status; 2 after a message if it is not understood.

    Raises KeyboardInterrupt if the user ends it.
    """
    asked = arguments[:1] if arguments[:1] and arguments[0] in _VERBS + _GROUPS else ()
    if asked and asked[0] in _COMPUTE:
        keep_freed_memory()
    try:
        status = _runner(tuple(asked))(
            args=arguments or ["--help"], prog_name="numascape", standalone_mode=False
        )
    except typer.TyperException as error:
        # If a required command is missing, help is printed and the message is empty.
        reason = error.format_message().rstrip(".") or "a command is missing"
        reason = reason.replace("Value error, ", "", 1)
        if (instead := typed_instead(arguments, reason)) is not None:
            terminal.complain(f"{reason}; use: numascape {instead}")
        else:
            terminal.complain(f"{reason}; see: {_help_command(arguments)}")
        return 2
    except typer.Abort as error:
        raise KeyboardInterrupt from error
    return status if isinstance(status, int) else 0


def _help_command(arguments: list[str]) -> str:
    named = [verb for verb in arguments[:1] if verb in _VERBS + _GROUPS]
    if named and named[0] in _GROUPS:
        commands = _group(named[0]).registered_commands
        inner = {command.callback.__name__ for command in commands if command.callback}
        named += [verb for verb in arguments[1:2] if verb in inner]
    return " ".join(["numascape", *named, "--help"])
