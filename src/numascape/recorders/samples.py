# SPDX-License-Identifier: Apache-2.0
"""The samples recorder: accesses are sampled, and our runtime logs allocations meanwhile.

The samples of perf have addresses, but no names for blocks on the heap. Here the samples come from
the same events of the processor, or from a clock. The preloaded runtime of the compiled recorder
logs each allocation, so that every sample belongs to a structure. Page faults are recorded, too:
first touches are exact.
"""

from __future__ import annotations

from collections.abc import Callable

from numascape.recorders.event_choice import choose_events, is_clock
from numascape.recorders.faults import run_with_events
from numascape.recorders.sampled_events import chosen_events
from numascape.recording.options import TASK_CLOCK, RecordOptions
from numascape.recording.session import Ended, Session


def event_of(options: RecordOptions, say: Callable[[str], None]) -> str | None:
    """The event that is sampled; None: all events of this processor.

    `say` gets the reason if the processor's events cannot be opened. Raises NumascapeError if there
    is no event of this name.
    """
    events = choose_events(options, False, say)
    return TASK_CLOCK if is_clock(events) else options.event


def run(session: Session) -> Ended:
    """Run the session's program and record samples and page faults, until it ends.

    Raises NumascapeError if there is no event to sample, if the program could not be started, or if
    the kernel does not allow it.
    """
    events = chosen_events(session.options)
    return run_with_events(session, "--samples=" + ",".join(event.words for event in events))
