# SPDX-License-Identifier: Apache-2.0
"""Recording: run or attach, convert what the recorder left, write the trace."""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from numascape.errors import NumascapeError
from numascape.recorders import binary, compiled, faults
from numascape.recorders.attach import attach, command_of_process
from numascape.recorders.modelled_cache import ModelledCache
from numascape.recorders.running import run_natively
from numascape.recorders.running_faults import record_running
from numascape.recorders.session import Ended, Session, begin_session
from numascape.trace.convert import convert
from numascape.trace.write import check_replaceable, write_trace

Progress = Callable[[str], None]


@dataclass(frozen=True)
class RecordRequest:
    """What to record: either `program` or `pid` for `seconds` (None: until it ends).

    `phases`, `every_s` and `cache` are as in Session; `recorder` too, or None for the best. With
    `measure_cost` the program runs once without recording before.
    """

    program: list[str]
    output: Path | None
    pid: int | None
    seconds: float | None
    stack: bool
    quiet: bool
    phases: str = "all"
    every_s: float | None = None
    lines: bool = True
    recorder: str | None = None
    cache: ModelledCache | None = None
    measure_cost: bool = False


@dataclass(frozen=True)
class RecordOutcome:
    """Where the trace is, and how the program ended: `signal` is set when one killed it."""

    trace: Path
    exit_status: int
    signal: int | None


def record(request: RecordRequest, progress: Progress) -> RecordOutcome:
    """Record, convert, and write the trace; the shards are removed only when it is written.

    Raises NumascapeError when the program cannot be recorded or the trace cannot be written; in
    the second case the message says how to convert the shards later.
    """
    program = request.program if request.pid is None else command_of_process(request.pid)
    target = request.output or Path(f"{Path(program[0]).name}.numascape")
    check_replaceable(target)
    if request.pid is not None and request.recorder == "faults" and request.cache is None:
        progress(f"Looking at the page faults of process {request.pid}")
        write_trace(target, *record_running(request.pid, program, request.seconds))
        return RecordOutcome(target, 0, None)
    session, ended = observe(request, program, target, progress)
    convert_session(session, target, progress)
    return RecordOutcome(target, ended.exit_status, ended.signal)


def observe(
    request: RecordRequest, program: list[str], target: Path, progress: Progress
) -> tuple[Session, Ended]:
    """Run or attach, and keep what was recorded in a session beside `target`, ready to convert.

    Raises NumascapeError when the program cannot be recorded.
    """
    recorder, why = _choose(request, program)
    native_cpu_s = None
    if request.measure_cost:
        progress(f"Running {request.program[0]} without recording first, to compare")
        native_cpu_s = run_natively(request.program)
    session = begin_session(
        *(target, program, request.stack, request.phases, request.every_s, request.lines),
        recorder=recorder,
        cache=request.cache,
    )
    try:
        if request.pid is not None:
            progress(f"Attaching to process {request.pid}")
            ended = attach(session, request.pid, request.seconds, progress)
        else:
            progress(f"Recording {request.program[0]} with the {recorder} recorder: {why}")
            ended = _RUN[recorder](session)
    except BaseException:
        session.discard_if_empty()
        raise
    ended = dataclasses.replace(ended, native_cpu_s=native_cpu_s)
    session = dataclasses.replace(session, ended=ended)
    # On a full disk the session stays as it began: convertible, without how the run ended.
    with contextlib.suppress(NumascapeError, OSError):
        session.save()
    return session, ended


_RUN: dict[str, Callable[[Session], Ended]] = {
    "binary": binary.run,
    "compiled": compiled.run,
    "faults": faults.run,
}


def _choose(request: RecordRequest, program: list[str]) -> tuple[str, str]:
    """The recorder, and why it is this one."""
    if request.pid is not None:
        if request.recorder == "compiled":
            raise NumascapeError("the compiled recorder cannot attach to a process")
        if request.recorder == "faults":
            raise NumascapeError("the faults recorder cannot count memory traffic")
        return "binary", "the one that attaches"
    if request.cache is not None:
        if request.recorder not in (None, "binary"):
            raise NumascapeError(
                f"the {request.recorder} recorder cannot count memory traffic: leave out "
                "--traffic, or use --recorder binary"
            )
        return "binary", "the one that counts memory traffic"
    if request.recorder is not None:
        return request.recorder, "as asked for"
    if compiled.is_compiled(program[0]):
        return "compiled", "the program was built by numascape-cc"
    if compiled.is_out_of_date(program[0]):
        return "binary", "another version of numascape-cc built the program: build it again"
    return "binary", "the program was not built by numascape-cc"


def convert_session(session: Session, target: Path, progress: Progress) -> None:
    """Turn the session's shards into the trace `target` and remove them.

    Raises NumascapeError, and then leaves the shards where they are.
    """
    progress("Converting what was recorded")
    try:
        trace = convert(session)
        write_trace(target, trace.tables, trace.info)
    except (NumascapeError, OSError, MemoryError, KeyboardInterrupt) as error:
        reason = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
        raise NumascapeError(
            f"{reason}. What was recorded is kept: numascape convert {session.folder} -o {target}"
        ) from error
    shutil.rmtree(session.folder, ignore_errors=True)
