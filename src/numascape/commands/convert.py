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
    """Convert an unfinished recording to a trace.

    Usually, `numascape record` does this. If it was killed, or the disk was full, the folder
    `TRACE.recording-...` still has everything that was counted until then.

    Example: `numascape convert run.numascape.recording-x1y2z3 -o run.numascape`
    """
    from numascape.recorders.record import convert_session
    from numascape.recording.session import read_session
    from numascape.trace.check_target import check_job, check_replaceable

    recording = read_session(session)
    name = recording.folder.name.rpartition(".recording-")[0] or recording.folder.name
    part = recording.part
    if part is not None:
        name = name.removesuffix(f".rank={part.rank}")
    target = output or recording.folder.with_name(name)
    if part is None:
        check_replaceable(target)
    else:
        check_job(target, part)
    convert_session(recording, target, (lambda _: None) if quiet else terminal.say)
    if part is not None:
        from numascape.jobs.stored_sums import store_sums

        store_sums(target, part.rank)
    if not quiet:
        terminal.say(f"wrote {target}")
