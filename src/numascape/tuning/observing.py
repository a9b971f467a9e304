# SPDX-License-Identifier: Apache-2.0
"""Observes a running process for some seconds: which thread uses which page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

from numascape.errors import NumascapeError
from numascape.live.targets import TargetProcess
from numascape.quantities import counted
from numascape.recorders.event_choice import why_not_sampled
from numascape.recorders.record import record
from numascape.recording.options import RecordOptions
from numascape.recording.request import RecordRequest
from numascape.trace import Trace
from numascape.trace.counting import FEWEST_SAMPLES, only_touches

ObserverName = Literal["binary", "faults", "samples"]
COSTS: Final[dict[ObserverName, str]] = {
    "binary": "each access is counted: the process is about 2 to 3 times slower meanwhile",
    "faults": "the hinting faults of the kernel's NUMA balancing are counted, at about 1 % cost",
    "samples": "accesses are sampled, at about 1 % cost",
}
_BALANCING: Final = "proc/sys/kernel/numa_balancing"


def choose_recorder(target: TargetProcess) -> ObserverName:
    """A recorder that hardly slows the process down, and leaves nothing in it.

    Samples if they can be taken, else the hinting faults of the kernel's NUMA balancing if it is
    on. Raises NumascapeError if both are impossible.
    """
    why = why_not_sampled(target.pid, target.root)
    if not why:
        return "samples"
    if _balances(target.root):
        return "faults"
    raise NumascapeError(
        f"{why}. Or use --recorder binary: the process is then 2 to 3 times slower while it is "
        "observed"
    )


def _balances(root: Path) -> bool:
    try:
        return (root / _BALANCING).read_text().strip() == "1"
    except OSError:
        return False


def observe(
    target: TargetProcess,
    seconds: float,
    recorder: ObserverName,
    output: Path,
    say: Callable[[str], None],
) -> Trace:
    """Record the process for `seconds` into the trace `output`.

    Raises NumascapeError if it cannot be recorded, if it has ended, or if it used no memory.
    """
    if not target.is_alive:
        raise NumascapeError(f"{target} has ended")
    options = RecordOptions(recorder=recorder, source_lines=False, phases="none")
    request = RecordRequest([], output, options, target.pid, seconds, quiet=True)
    try:
        record(request, say)
    except NumascapeError as error:
        if target.is_alive:
            raise
        raise NumascapeError(f"{target} has ended") from error
    trace = Trace.read(output)
    if only_touches(trace):
        raise NumascapeError(
            f"{target}: too few hinting faults in {seconds:g} s to know which thread uses which "
            "page: observe longer (--seconds), or use --recorder binary"
        )
    check_enough(trace, f"{target}", seconds)
    if not trace.accesses.height:
        used = f"used no memory in {seconds:g} s: observe longer"
        raise NumascapeError(f"{target} {used if target.is_alive else 'has ended'}")
    return trace


def check_enough(trace: Trace, subject: str, seconds: float) -> None:
    """Raise NumascapeError if the trace has so few samples that its shares have no meaning."""
    samples = trace.info.totals.reads + trace.info.totals.writes
    if trace.info.recorder.counts == "samples" and samples < FEWEST_SAMPLES:
        raise NumascapeError(
            f"{subject}: {counted(samples, 'sample')} in {seconds:g} s, too few to know which "
            f"thread uses which page ({FEWEST_SAMPLES} are needed): observe longer (--seconds), or "
            "while it works"
        )
