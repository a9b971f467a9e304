# SPDX-License-Identifier: Apache-2.0
"""The binary recorder: runs an unmodified executable under our DynamoRIO client."""

from __future__ import annotations

import os
import subprocess
from typing import Final

from numascape.errors import NumascapeError
from numascape.installation import installed_file
from numascape.recorders.running import run_command, why_not_started
from numascape.recorders.shard_files import (
    ShardFilesServer,
    refuse_small_address_space,
    refuse_small_files,
)
from numascape.recording.options import AUTO, USUAL_COST, RecordOptions
from numascape.recording.session import Ended, Session

BURST_UNITS: Final = 125
"""The length of the first bursts in units of work. They become longer if they cost little."""

_PAGE_FAULTS: Final = "1:2:0:0:0:1:0:0:0:0:0"
"""Each page fault, in the words of numascape-faults: a software event of the kernel, each one."""


def client_options(options: RecordOptions) -> str:
    """The options of the DynamoRIO client, as its launcher passes them; `options` are decided."""
    words = [] if options.stack else ["-no-stack"]
    if not options.source_lines:
        words.append("-no-source-lines")
    if not options.records_regions:
        words.append("-no-regions")
    if not options.records_marks:
        words.append("-no-marks")
    if options.every is not None:
        words.append(f"-every {round(options.every * 1e9)}")
    if options.sample == AUTO:
        cost = round(1000 * (options.cost or USUAL_COST))
        words.append(f"-bursts {BURST_UNITS} 0 -cost {cost}")
    elif options.sample is not None:
        gap = round(BURST_UNITS * (1 - options.sample) / options.sample)
        words.append(f"-bursts {BURST_UNITS} {gap}")
    if options.cache is not None:
        cache = options.cache
        bits = [(number.bit_length() - 1) for number in (cache.sets, cache.line_bytes)]
        words.append(f"-cache {cache.ways} {bits[0]} {bits[1]}")
    return " ".join(words)


def _with_page_faults(session: Session) -> list[str]:
    """The words before a command whose page faults are recorded; none if this is not permitted.

    Bursts do not see the first touch of most pages, but page faults show it.
    """
    helper = str(installed_file("_recorder/numascape-faults"))
    permitted = subprocess.run(
        [helper, "--try", str(os.getpid()), _PAGE_FAULTS], check=False, capture_output=True
    )
    return [helper, str(session.folder), "--faults", "--"] if permitted.returncode == 0 else []


def run(session: Session) -> Ended:
    """Run and record the session's program, on our own terminal and streams, until it ends.

    Raises NumascapeError if it could not be started.
    """
    home = installed_file("_recorder")
    refuse_small_files()
    refuse_small_address_space()
    with ShardFilesServer(session.folder) as files:
        command = [
            *(_with_page_faults(session) if session.options.sample is not None else ()),
            str(home / "numascape-launch"),
            str(home),
            str(session.folder),
            f"{files.options} {client_options(session.options)}",
            "--",
            *session.program,
        ]
        ended = run_command(session, command)
    session.check_room()
    if not session.shards():
        code = -ended.signal if ended.signal else ended.exit_status or 0
        raise NumascapeError(why_not_started(session, session.program[0], code))
    return ended
