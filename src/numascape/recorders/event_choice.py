# SPDX-License-Identifier: Apache-2.0
"""Chooses the events that the samples recorder samples: those that the kernel opens here.

The kernel may list an event of the processor that it does not open: IBS for users before Linux
6.14, for example.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from numascape.installation import installed_file
from numascape.recorders.sampled_events import SampledEvent, chosen_events, events_of_running
from numascape.recording.options import TASK_CLOCK, RecordOptions

# A status of numascape-faults: no user can open the event. Another one says that this user may not.
_CANNOT_BE_OPENED: Final = 1


def choose_events(
    options: RecordOptions, is_running: bool, say: Callable[[str], None], root: Path = Path("/")
) -> list[SampledEvent]:
    """The events of the options; `is_running`: of a process that runs already.

    If the user names no event, and the kernel does not open one of the processor's events, these
    are the clock. `say` then gets the reason. Raises NumascapeError if there is no event of this
    name.
    """
    find = events_of_running if is_running else chosen_events
    events = find(options, root)
    if options.event is not None or is_clock(events):
        return events
    # They are opened for this process, which needs no permission for another one.
    status, why = _try_to_open(events, os.getpid())
    if status != _CANNOT_BE_OPENED:
        return events
    names = " and ".join(dict.fromkeys(event.name for event in events))
    say(f"Sampling the clock instead of {names}, because {why}")
    return find(replace(options, event=TASK_CLOCK), root)


def is_clock(events: Sequence[SampledEvent]) -> bool:
    """Whether only the clock is sampled."""
    return [event.name for event in events] == [TASK_CLOCK]


def why_not_sampled(pid: int, root: Path = Path("/")) -> str:
    """Why this user cannot sample the accesses of a running process; empty if that is possible."""
    events = choose_events(RecordOptions("samples"), True, lambda _: None, root)
    return _try_to_open(events, pid)[1]


def _try_to_open(events: Sequence[SampledEvent], pid: int) -> tuple[int, str]:
    """Open the events for a process, and close them; why that is impossible, with a status."""
    helper = str(installed_file("_recorder/numascape-faults"))
    words = ",".join(event.words for event in events)
    tried = subprocess.run(
        [helper, "--try", str(pid), words], stdout=subprocess.PIPE, text=True, check=False
    )
    return tried.returncode, tried.stdout.strip()
