# SPDX-License-Identifier: Apache-2.0
"""The fault recorder: first touch only, of any program, from the kernel's page-fault events.

The events come from outside (numascape-faults); what lies where comes from the compiled recorder's
runtime, which is preloaded to log allocations, mappings, threads and where pages are, and counts
nothing.
"""

from __future__ import annotations

from numascape.errors import NumascapeError
from numascape.installation import installed_file
from numascape.recorders.compiled import run_under_helper
from numascape.recorders.running import why_not_started
from numascape.recorders.session import Ended, Session


def run(session: Session) -> Ended:
    """Run the session's program, its page faults recorded, until it ends.

    Raises NumascapeError when it could not be started, or the kernel does not allow it.
    """
    helper = str(installed_file("_recorder/numascape-faults"))
    command = [helper, str(session.folder), "--faults", "--", *session.program]
    ended = run_under_helper(session, command, "-faults")
    if not session.shards():
        code = -ended.signal if ended.signal else ended.exit_status
        if not (session.folder / "faults").exists():
            raise NumascapeError(why_not_started(session, session.program[0], code))
        raise NumascapeError(
            f"{session.program[0]} ran, but took no preloaded library (a static program does not, "
            "nor one with set-user-id): use --recorder binary"
        )
    return ended
