# SPDX-License-Identifier: Apache-2.0
"""The command `numascape`: finds the verb, and turns every failure into one line and a status."""

from __future__ import annotations

import os
import sys
from typing import Annotated, NoReturn

import typer
from typer.main import get_command

from numascape import terminal
from numascape.commands import (
    advise,
    balance,
    compare,
    convert,
    export,
    host,
    import_,
    machine,
    merge,
    move,
    pages,
    plot,
    predict,
    record,
    report,
    show,
    view,
)
from numascape.commands.run import run as run_program
from numascape.errors import NumascapeError
from numascape.installation import installed_version

app = typer.Typer(
    name="numascape",
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
# Options after the program's name belong to the program, with or without `--` before it.
app.command(context_settings={"allow_interspersed_args": False})(record.record)
app.command(context_settings={"allow_interspersed_args": False})(run_program)
app.command()(report.report)
app.command()(view.view)
app.command()(show.show)
app.command()(advise.advise)
app.command()(compare.compare)
app.command()(plot.plot)
app.command()(export.export)
app.command()(convert.convert)
app.command()(merge.merge)
app.command(name="import")(import_.import_)
app.add_typer(machine.app)
app.command()(balance.balance)
app.command()(predict.predict)
app.add_typer(host.app)
app.command()(pages.pages)
app.command()(move.move)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"numascape {installed_version()}")
        raise typer.Exit


@app.callback()
def numascape_command(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """See how a program uses memory on a NUMA machine, and learn why that is slow.

    Record a program, then look at the report:

    `numascape record -o run.numascape -- ./program`

    `numascape report run.numascape`
    """


def run(arguments: list[str]) -> int:
    """Run one command line and return the exit status.

    0 is success. 2 is an error that the user can fix (one line on standard error). 130 is an
    interruption. `record` returns the recorded program's own status.
    """
    try:
        status = get_command(app).main(
            args=arguments or ["--help"], prog_name="numascape", standalone_mode=False
        )
        _flush()
    except NumascapeError as error:
        terminal.complain(str(error))
        return error.exit_code
    except typer.TyperException as error:
        # If a required command is missing, help is printed and the message is empty.
        reason = error.format_message().rstrip(".") or "a command is missing"
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
    verbs = [command.callback.__name__ for command in app.registered_commands if command.callback]
    named = [verb for verb in verbs if verb == arguments[0]]
    for group in (machine.app, host.app):
        if arguments[0] == group.info.name:
            inner = {
                command.callback.__name__
                for command in group.registered_commands
                if command.callback
            }
            named = [arguments[0], *(verb for verb in arguments[1:2] if verb in inner)]
    return " ".join(["numascape", *named, "--help"])


def _flush() -> None:
    # The caller may have closed it, for example with `>&-`.
    if sys.stdout is not None:
        sys.stdout.flush()


def main() -> NoReturn:
    """Run this process's command line and exit."""
    status = run(sys.argv[1:])
    try:
        _flush()
    except OSError:
        # The reader has ended or the disk is full: the rest of the output is discarded.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(status)
