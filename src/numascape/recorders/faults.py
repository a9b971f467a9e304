# SPDX-License-Identifier: Apache-2.0
"""The fault recorder: records the first touches of any program from page-fault events.

The kernel's events are read by a separate process (numascape-faults). The runtime of the compiled
recorder is preloaded. It logs allocations, mappings, threads and the nodes of pages, and counts no
accesses.
"""

from __future__ import annotations

from numascape.errors import NumascapeError
from numascape.installation import installed_file
from numascape.recorders.compiled import run_under_helper
from numascape.recorders.running import why_not_started
from numascape.recording.session import Ended, Session


def run(session: Session) -> Ended:
    """Run the session's program and record its page faults, until it ends.

    Raises NumascapeError if it could not be started, or if the kernel does not allow it.
    """
    return run_with_events(session, "--faults")


def run_with_events(session: Session, how: str) -> Ended:
    """Run the session's program; `how`: options that say what to record."""
    helper = str(installed_file("_recorder/numascape-faults"))
    command = [helper, str(session.folder), how, "--", *session.program]
    ended = run_under_helper(session, command, "-faults")
    session.check_room()
    if not session.shards():
        code = -ended.signal if ended.signal else ended.exit_status or 0
        if not (session.folder / "faults").exists():
            raise NumascapeError(why_not_started(session, session.program[0], code))
        raise NumascapeError(
            f"{session.program[0]} ran, but did not load the recorder (static programs and "
            "set-user-id programs cannot load it): use --recorder binary"
        )
    return ended
