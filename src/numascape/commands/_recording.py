# SPDX-License-Identifier: Apache-2.0
"""What `numascape record` does, apart from the parsing of its options."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from numascape import terminal
from numascape.errors import NumascapeError

if TYPE_CHECKING:
    from numascape.recorders.record import RecordOutcome
    from numascape.recording.options import PhaseKind, RecorderName


@dataclass(frozen=True)
class AskedRecording:
    """The options of the verb `record`, under their names."""

    program: list[str]
    output: Path | None = None
    ranks: str | None = None
    pid: int | None = None
    seconds: float | None = None
    stack: bool = True
    lines: bool = True
    phases: PhaseKind | None = None
    every: float | None = None
    recorder: RecorderName | None = None
    event: str | None = None
    frequency: int | None = None
    traffic: bool = False
    cache: str | None = None
    measure_cost: bool = False
    quiet: bool = False


def record_as_asked(asked: AskedRecording) -> int:
    """Record, say what was recorded, and return the exit status: usually the program's own."""
    _check(asked)
    # Imported here, because help and completion should not wait for the data frames.
    from numascape.recorders.record import RecordRequest, start_untouched
    from numascape.recorders.record import record as run_recorder
    from numascape.recording.job_place import records
    from numascape.recording.launchers import find_launch
    from numascape.recording.options import RecordOptions, choose_cache

    options = RecordOptions(
        recorder=asked.recorder,
        stack=asked.stack,
        lines=asked.lines,
        phases=asked.phases or "all",
        every_s=asked.every,
        cache=choose_cache(asked.traffic, asked.cache),
        event=asked.event,
        frequency=asked.frequency,
    )
    launch = find_launch(os.environ) if asked.pid is None else None
    if launch is not None and launch.size != 1 and asked.measure_cost:
        raise NumascapeError(
            "--measure-cost runs the program twice, so it cannot be used in a job: run the job "
            "twice yourself and compare the times"
        )
    request = RecordRequest(
        asked.program,
        asked.output,
        options,
        asked.pid,
        asked.seconds,
        asked.measure_cost,
        launch,
        asked.ranks,
        # The terminal of a job belongs to all its ranks.
        show_status=not asked.quiet and launch is None,
    )
    if not records(launch, asked.ranks):
        start_untouched(request)
    outcome = run_recorder(request, _ignore if asked.quiet else terminal.say)
    if outcome.job is not None and outcome.rank is not None:
        from numascape.jobs.stored_sums import store_sums

        store_sums(outcome.job, outcome.rank)
    if not asked.quiet:
        _report_outcome(outcome)
    return outcome.exit_status if outcome.signal is None else 128 + outcome.signal


def _check(asked: AskedRecording) -> None:
    if asked.pid is None and not asked.program:
        raise NumascapeError("no program given: use numascape record -- PROGRAM, or --pid PID")
    if asked.pid is not None and asked.program:
        raise NumascapeError("give either a program or --pid, not both")
    if asked.seconds is not None and asked.pid is None:
        raise NumascapeError("--seconds needs --pid: a program is recorded until it ends")
    if asked.seconds is not None and not 0 < asked.seconds < float("inf"):
        raise NumascapeError(f"--seconds {asked.seconds:g}: must be more than 0")
    if asked.every is not None and asked.phases is not None:
        raise NumascapeError("--every and --phases cannot be used together")
    if asked.measure_cost and asked.pid is not None:
        raise NumascapeError(
            "--measure-cost runs the program twice, so it cannot be used with --pid"
        )


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
