# SPDX-License-Identifier: Apache-2.0
"""The command `numascape`: runs a command line; every failure is one line and a status."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from numascape import terminal
from numascape.cli.ending import end_process
from numascape.cli.first_words import understood
from numascape.cli.plain_recordings import plainly_asked
from numascape.commands._recording import record_as_asked
from numascape.errors import NumascapeError


def run(arguments: list[str]) -> int:
    """Run one command line and return the exit status.

    0 is success. 2 is an error that the user can fix (one line on standard error). 130 is an
    interruption. `record` returns the recorded program's own status.
    """
    try:
        arguments = understood(arguments)
        asked = plainly_asked(arguments)
        status = _run_verb(arguments) if asked is None else record_as_asked(asked)
        _flush()
    except NumascapeError as error:
        terminal.complain(str(error))
        return error.exit_code
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
        terminal.complain("this machine does not have enough memory for this command")
        return 2
    except KeyboardInterrupt:
        terminal.complain("interrupted")
        return 130
    return status


def _run_verb(arguments: list[str]) -> int:
    # Imported here, because the usual recording needs no parser, which takes long to load.
    from numascape.cli.app import run_verb

    return run_verb(arguments)


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
    end_process(status)
