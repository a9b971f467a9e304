# SPDX-License-Identifier: Apache-2.0
"""The binary recorder: runs an unmodified executable under our DynamoRIO client."""

from __future__ import annotations

from numascape.errors import NumascapeError
from numascape.installation import installed_file
from numascape.recorders.running import run_command, why_not_started
from numascape.recorders.shard_files import (
    ShardFilesServer,
    refuse_small_address_space,
    refuse_small_files,
)
from numascape.recording.options import RecordOptions
from numascape.recording.session import Ended, Session


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
    if options.cache is not None:
        cache = options.cache
        bits = [(number.bit_length() - 1) for number in (cache.sets, cache.line_bytes)]
        words.append(f"-cache {cache.ways} {bits[0]} {bits[1]}")
    return " ".join(words)


def run(session: Session) -> Ended:
    """Run and record the session's program, on our own terminal and streams, until it ends.

    Raises NumascapeError if it could not be started.
    """
    home = installed_file("_recorder")
    refuse_small_files()
    refuse_small_address_space()
    with ShardFilesServer(session.folder) as files:
        command = [
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
