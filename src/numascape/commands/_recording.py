# SPDX-License-Identifier: Apache-2.0
"""Does the work of `numascape record`, after its options are parsed."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING

from numascape import terminal

if TYPE_CHECKING:
    from numascape.recorders.record import RecordOutcome
    from numascape.recording.request import RecordRequest


def record_as_asked(request: RecordRequest) -> int:
    """Record, say what was recorded, and return the exit status: usually the program's own."""
    # Imported here, because help and completion should not wait for the data frames.
    from numascape.recorders.record import record as run_recorder
    from numascape.recorders.record import start_untouched
    from numascape.recording.job_place import records
    from numascape.recording.launchers import find_launch

    if request.pid is None:
        request = dataclasses.replace(request, launch=find_launch(os.environ))
    if not records(request.launch, request.ranks):
        start_untouched(request)
    outcome = run_recorder(request, _ignore if request.quiet else terminal.say)
    if outcome.job is not None and outcome.rank is not None:
        from numascape.jobs.stored_sums import store_sums

        store_sums(outcome.job, outcome.rank)
    if not request.quiet:
        _report_outcome(outcome)
    return outcome.exit_status if outcome.signal is None else 128 + outcome.signal


def _ignore(_: str) -> None:
    pass


def _report_outcome(outcome: RecordOutcome) -> None:
    """Print what the trace contains, and the next command; in a job, only one rank does it."""
    from numascape.analysis.run_description import describe_run
    from numascape.trace import Trace
    from numascape.trace.job import first_recorded

    trace = Trace(outcome.trace, outcome.info)
    part = trace.info.part
    if part is None:
        for line in describe_run(trace):
            terminal.say(line)
        terminal.say(f"wrote {outcome.trace}; look at it with:")
        terminal.suggest("report", str(outcome.trace))
    elif part.rank == first_recorded(part.recorded):
        terminal.say(f"rank {part.rank}: wrote {outcome.trace}; when all ranks have ended:")
        terminal.suggest("show", str(outcome.job))
