# SPDX-License-Identifier: Apache-2.0
"""The binary recorder: runs an unmodified executable under our DynamoRIO client."""

from __future__ import annotations

from numascape.errors import NumascapeError
from numascape.installation import installed_file
from numascape.recorders.running import run_command, why_not_started
from numascape.recorders.session import Ended, Session


def client_options(session: Session) -> str:
    """The client's options, as its launcher passes them on."""
    options = [] if session.stack else ["-no-stack"]
    if not session.lines:
        options.append("-no-lines")
    if session.every_s is not None or session.phases in ("marks", "none"):
        options.append("-no-regions")
    if session.every_s is not None or session.phases in ("regions", "none"):
        options.append("-no-marks")
    if session.every_s is not None:
        options.append(f"-every {round(session.every_s * 1e9)}")
    if session.cache is not None:
        cache = session.cache
        bits = [(number.bit_length() - 1) for number in (cache.sets, cache.line_bytes)]
        options.append(f"-cache {cache.ways} {bits[0]} {bits[1]}")
    return " ".join(options)


def run(session: Session) -> Ended:
    """Run the session's program recorded, on our own terminal and streams, until it ends.

    Raises NumascapeError when it could not be started.
    """
    home = installed_file("_recorder")
    command = [
        str(home / "numascape-launch"),
        str(home),
        str(session.folder),
        client_options(session),
        "--",
        *session.program,
    ]
    ended = run_command(session, command)
    if not session.shards():
        code = -ended.signal if ended.signal else ended.exit_status
        raise NumascapeError(why_not_started(session, session.program[0], code))
    return ended
