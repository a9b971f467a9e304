# SPDX-License-Identifier: Apache-2.0
"""The samples recorder: the processor samples accesses; our runtime logs allocations meanwhile.

The samples of perf have addresses, but no names for blocks on the heap. Here the samples come from
the same events, and the preloaded runtime of the compiled recorder logs each allocation, so that
every sample belongs to a structure. Page faults are recorded, too: first touches are exact.
"""

from __future__ import annotations

from numascape.recorders.faults import run_with_events
from numascape.recorders.sampled_events import chosen_events
from numascape.recording.session import Ended, Session


def run(session: Session) -> Ended:
    """Run the session's program and record samples and page faults, until it ends.

    Raises NumascapeError if there is no event to sample, if the program could not be started, or if
    the kernel does not allow it.
    """
    events = chosen_events(session.options.event)
    return run_with_events(session, "--samples=" + ",".join(event.words for event in events))
