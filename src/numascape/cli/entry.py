# SPDX-License-Identifier: Apache-2.0
"""The command `numascape`: finds the verb, and turns every failure into one line and a status."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Final, NoReturn

import typer
from typer.main import get_command

from numascape import terminal
from numascape.cli.first_words import typed_instead, understood
from numascape.errors import NumascapeError
from numascape.installation import describe_parts, installed_version

# Each is a module of numascape.commands, in the order of the help.
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
# Likewise; these have verbs of their own.
_GROUPS: Final = ("machine", "host")
# Options after the program's name belong to the program, with or without `--` before it.
_OF_PROGRAM: Final = {"allow_interspersed_args": False}
_RUN_A_PROGRAM: Final = ("record", "run")
# Python looks for garbage after 700 new objects. Most verbs make many objects and end soon.
_OBJECTS_BEFORE_COLLECTION: Final = 100_000


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
    """See how a program uses memory on a NUMA machine, and learn why that is slow.

    Record a program, then look at the report:

    `numascape record -o run.numascape -- ./program`

    `numascape report run.numascape`
    """


def build_app(verbs: Sequence[str] = (*_VERBS, *_GROUPS)) -> typer.Typer:
    """The command with these verbs. Each of them takes time: its module, and all its options."""
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


def run(arguments: list[str]) -> int:
    """Run one command line and return the exit status.

    0 is success. 2 is an error that the user can fix (one line on standard error). 130 is an
    interruption. `record` returns the recorded program's own status.
    """
    arguments = understood(arguments)
    try:
        asked = arguments[:1] if arguments[:1] and arguments[0] in _VERBS + _GROUPS else ()
        status = get_command(build_app(asked) if asked else build_app()).main(
            args=arguments or ["--help"], prog_name="numascape", standalone_mode=False
        )
        _flush()
    except NumascapeError as error:
        terminal.complain(str(error))
        return error.exit_code
    except typer.TyperException as error:
        # If a required command is missing, help is printed and the message is empty.
        reason = error.format_message().rstrip(".") or "a command is missing"
        instead = typed_instead(arguments) if reason.startswith("No such command") else None
        if instead is not None:
            word = terminal.printable(arguments[0])
            terminal.complain(f"{word} is no verb that does this; use: numascape {instead}")
        else:
            terminal.complain(f"{reason}; see: {_help_command(arguments)}")
        return 2
    except SystemExit as ending:
        # Typer raises this if the reader of our output, such as `head`, has ended: not an error.
        if isinstance(ending.__context__, BrokenPipeError):
            return 0
        raise
    except BrokenPipeError:
        return 0
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        terminal.complain(f"{where}{error.strerror or error}")
        return 2
    except MemoryError:
        terminal.complain("this machine has not enough memory for it")
        return 2
    except (KeyboardInterrupt, typer.Abort):
        terminal.complain("interrupted")
        return 130
    return status if isinstance(status, int) else 0


def _help_command(arguments: list[str]) -> str:
    named = [verb for verb in arguments[:1] if verb in _VERBS + _GROUPS]
    if named and named[0] in _GROUPS:
        commands = _group(named[0]).registered_commands
        inner = {command.callback.__name__ for command in commands if command.callback}
        named += [verb for verb in arguments[1:2] if verb in inner]
    return " ".join(["numascape", *named, "--help"])


def _flush() -> None:
    # The caller may have closed it, for example with `>&-`.
    if sys.stdout is not None:
        sys.stdout.flush()


def main() -> NoReturn:
    """Run this process's command line and exit."""
    gc.set_threshold(_OBJECTS_BEFORE_COLLECTION)
    status = run(sys.argv[1:])
    try:
        _flush()
    except OSError:
        # The reader has ended or the disk is full: the rest of the output is discarded.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(status)
