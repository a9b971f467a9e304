# SPDX-License-Identifier: Apache-2.0
"""Records: runs or attaches, converts the shards, and writes the trace."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn

from numascape.environment import users_environment
from numascape.errors import NumascapeError
from numascape.recorders import binary, compiled, faults, samples
from numascape.recorders.attach import attach, command_of_process
from numascape.recorders.executable import check_executable
from numascape.recorders.live_status import live_status, place_on_terminal
from numascape.recorders.running import run_natively
from numascape.recording.job_place import OutputPlace, place_of
from numascape.recording.options import RecorderName
from numascape.recording.request import RecordRequest
from numascape.recording.session import Ended, Session, begin_session
from numascape.trace.check_target import check_job, check_replaceable
from numascape.trace.info import JobPart, TraceInfo

Progress = Callable[[str], None]


@dataclass(frozen=True)
class RecordOutcome:
    """The trace, what it says of itself, and how the program ended; a `signal` if one killed it.

    `job` is the folder of the job of which the trace is the part of `rank`; both are None
    otherwise.
    """

    trace: Path
    info: TraceInfo
    exit_status: int
    signal: int | None
    job: Path | None = None
    rank: int | None = None


def record(request: RecordRequest, progress: Progress) -> RecordOutcome:
    """Record, convert, and write the trace; the shards are removed after it is written.

    Raises NumascapeError if the program cannot be recorded or the trace cannot be written. In the
    second case, the message says how to convert the shards later.
    """
    program = request.program if request.pid is None else command_of_process(request.pid)
    place = place_of(_output(request, program), request.launch, request.ranks)
    target = place.written
    if place.part is None:
        check_replaceable(target)
    else:
        check_job(place.target, place.part)
        progress = partial(_say_rank, progress, place)
    if request.pid is not None and request.options.recorder in {"faults", "samples", "damon"}:
        return _record_from_outside(request, request.pid, program, target, progress)
    session, ended, failure = record_session(request, program, place.beside, progress, place.part)
    info = convert_session(session, place.target, progress)
    if failure:
        raise NumascapeError(f"{failure}; {target} holds what was recorded until then")
    status = ended.exit_status or 0
    if place.part is None:
        return RecordOutcome(target, info, status, ended.signal)
    return RecordOutcome(target, info, status, ended.signal, place.target, place.part.rank)


def _record_from_outside(
    request: RecordRequest, pid: int, program: list[str], target: Path, progress: Progress
) -> RecordOutcome:
    """Record a running process without entering it."""
    # Imported here, because these modules load all that reads samples.
    from numascape.recorders.event_choice import choose_events
    from numascape.recorders.running_faults import record_running
    from numascape.recorders.running_regions import record_regions
    from numascape.trace.write import write_trace

    recorder, every = request.options.recorder, request.options.every
    if recorder == "damon":
        looks = partial(progress, f"Looking at the memory of process {pid} with DAMON")
        tables, info = record_regions(pid, program, request.seconds, every, looks)
        return RecordOutcome(target, write_trace(target, tables, info), 0, None)
    notes: list[str] = []
    events = choose_events(request.options, True, notes.append) if recorder == "samples" else []
    what = "samples and page faults" if events else "page faults"
    notes.append(f"Looking at the {what} of process {pid}")

    def begins() -> None:
        for note in notes:
            progress(note)

    tables, info = record_running(pid, program, request.seconds, events, every, begins)
    return RecordOutcome(target, write_trace(target, tables, info), 0, None)


def start_untouched(request: RecordRequest) -> NoReturn:
    """Become the program, because this rank is not recorded; NumascapeError if that fails."""
    name = request.program[0]
    try:
        os.execvpe(name, request.program, users_environment())
    except OSError as error:
        raise NumascapeError(f"cannot run {name}: {error.strerror}") from error


def _output(request: RecordRequest, program: list[str]) -> Path:
    return request.output or Path(f"{Path(program[0]).name}.numascape")


def _say_rank(progress: Progress, place: OutputPlace, message: str) -> None:
    """Show the message in a job, if this rank is the one that shows messages."""
    if place.part is not None and place.leads:
        progress(f"rank {place.part.rank}: {message}")


def record_session(
    request: RecordRequest,
    program: list[str],
    target: Path,
    progress: Progress,
    part: JobPart | None = None,
) -> tuple[Session, Ended, str]:
    """Run or attach, and write the shards to a session beside `target`, ready to convert.

    The text says what went wrong with an attached process, and is empty otherwise. Raises
    NumascapeError if the program cannot be recorded.
    """
    recorder, why = _choose(request, program)
    if request.pid is None:
        check_executable(program[0])
    options = request.options.decided(recorder)
    native_cpu_s = None
    if request.measure_cost:
        progress(f"Running {request.program[0]} without recording first, to compare")
        native_cpu_s = run_natively(request.program)
    if recorder == "samples":
        # The trace says what was sampled.
        options = dataclasses.replace(options, event=samples.event_of(options, progress))
    session = begin_session(target, program, options, part)
    failure = ""
    shown = place_on_terminal(request.pid) if request.shows_status else None
    try:
        if request.pid is not None:
            progress(f"Attaching to process {request.pid}")
            with live_status(session.folder, shown):
                ended, failure = attach(session, request.pid, request.seconds)
        else:
            progress(f"Recording {request.program[0]} with the {recorder} recorder: {why}")
            with live_status(session.folder, shown):
                ended = _RUN[recorder](session)
    except BaseException:
        session.discard_if_empty()
        raise
    ended = dataclasses.replace(ended, native_cpu_s=native_cpu_s)
    session = dataclasses.replace(session, ended=ended)
    # With a full disk, the session can still be converted; only the end of the run is unknown.
    with contextlib.suppress(NumascapeError, OSError):
        session.save()
    return session, ended, failure


_RUN: dict[RecorderName, Callable[[Session], Ended]] = {
    "binary": binary.run,
    "compiled": compiled.run,
    "faults": faults.run,
    "samples": samples.run,
}


def _choose(request: RecordRequest, program: list[str]) -> tuple[RecorderName, str]:
    """Choose the recorder, with the reason."""
    asked = request.options.recorder
    if request.pid is not None:
        if asked == "compiled":
            raise NumascapeError("the compiled recorder cannot attach to a process")
        return "binary", "only it can attach"
    if request.options.sample is not None:
        return "binary", "only it counts a share of the work"
    if request.options.traffic:
        return "binary", "only it counts memory traffic"
    if asked == "damon":
        raise NumascapeError("the damon recorder looks at a running process: use it with --pid")
    if asked is not None:
        return asked, "as asked for"
    if compiled.is_compiled(program[0]):
        return "compiled", "the program was built by numascape-cc"
    if compiled.is_out_of_date(program[0]):
        return "binary", "another version of numascape-cc built the program: build it again"
    return "binary", "the program was not built by numascape-cc"


def convert_session(session: Session, target: Path, progress: Progress) -> TraceInfo:
    """Turn the session's shards into the trace or the job's part `target`, and remove them.

    Returns what the trace says of itself.

    Raises NumascapeError; the shards then stay.
    """
    try:
        progress("Converting what was recorded")
        # Imported here, so that a program starts sooner. If nothing is converted, nothing is
        # loaded.
        from numascape.conversion.convert import convert
        from numascape.trace.write import write_trace
        from numascape.trace.write_part import write_part

        trace = convert(session)
        if session.part is None:
            info = write_trace(target, trace.tables, trace.info)
        else:
            part = trace.info.part or session.part
            info = write_part(target, part, trace.tables, trace.info)
    except (NumascapeError, OSError, MemoryError, KeyboardInterrupt) as error:
        reason = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
        raise NumascapeError(
            f"{reason}. What was recorded is kept: numascape convert {session.folder} -o {target}"
        ) from error
    shutil.rmtree(session.folder, ignore_errors=True)
    return info
