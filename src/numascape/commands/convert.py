# SPDX-License-Identifier: Apache-2.0
"""The verb `convert`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from numascape import terminal
from numascape.commands._options import output_to


def convert(
    session: Annotated[
        Path, typer.Argument(metavar="RECORDING", help="The folder of an unfinished recording.")
    ],
    output: Annotated[
        Path | None,
        output_to("The trace to write. Default: named after the recording.", metavar="TRACE"),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print only errors and warnings.")
    ] = False,
) -> None:
    """Turn an unfinished recording into a trace.

    `numascape record` does this itself. If it could not (it was killed, or the disk was full), the
    folder `TRACE.recording-...` still has everything that was counted.

    Example: `numascape convert run.numascape.recording-x1y2z3 -o run.numascape`
    """
    from numascape.recorders.record import convert_session
    from numascape.recording.session import read_session
    from numascape.trace.write import check_replaceable

    recording = read_session(session)
    target = output or recording.folder.with_name(recording.folder.name.split(".recording-")[0])
    check_replaceable(target)
    convert_session(recording, target, (lambda _: None) if quiet else terminal.say)
    if not quiet:
        terminal.say(f"wrote {target}")
