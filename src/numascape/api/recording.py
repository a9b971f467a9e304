# SPDX-License-Identifier: Apache-2.0
"""Recording from Python."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from numascape.api.opened_trace import OpenedTrace
from numascape.errors import NumascapeError
from numascape.recorders.record import RecordRequest
from numascape.recorders.record import record as run_recorder
from numascape.recording.options import PhaseKind, RecorderName, RecordOptions, choose_cache


def record(
    program: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str] | None = None,
    *,
    recorder: RecorderName | None = None,
    stack: bool = True,
    lines: bool = True,
    phases: PhaseKind = "all",
    every: float | None = None,
    traffic: bool = False,
    cache: str | None = None,
    event: str | None = None,
    frequency: int | None = None,
) -> OpenedTrace:
    """Run a program, record it, and open its trace. The options are those of `numascape record`.

    `program` is the program and its arguments. `output` is the folder of the trace; None is a
    folder in the directory for temporary files, which is not removed. `every` is the length in
    seconds of the time slices that are then the phases. `cache` is the cache that `traffic` models,
    such as "2M,16,64". `event` and `frequency` are for the recorder "samples".

    Raises NumascapeError if the program cannot be recorded. `trace.info.exit_status` is its exit
    status.
    """
    if isinstance(program, str):
        words = ", ".join(repr(word) for word in program.split())
        raise NumascapeError(f"the program is not a list: use numascape.record([{words}])")
    command = [os.fspath(word) for word in program]
    if not command:
        raise NumascapeError("no program given: use numascape.record([PROGRAM, ARGUMENT, ...])")
    target = Path(output) if output is not None else _temporary(command[0])
    modelled = choose_cache(traffic, cache)
    options = RecordOptions(
        recorder=recorder,
        stack=stack,
        lines=lines,
        phases=phases,
        every_s=every,
        cache=modelled,
        event=event,
        frequency=frequency,
    )
    run_recorder(RecordRequest(command, target, options), lambda _: None)
    return OpenedTrace.read(target)


def _temporary(program: str) -> Path:
    return Path(tempfile.mkdtemp(prefix="numascape-")) / f"{Path(program).name}.numascape"
