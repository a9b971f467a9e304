# SPDX-License-Identifier: Apache-2.0
"""Compares the probe with likwid-bench, STREAM and multichase.

Runs of all tools alternate, so that other load on the machine affects all of them. If permitted,
all run with real-time priority, so that no other program gets their CPU. All use memory in huge
pages (likwid-bench and STREAM through a tunable of malloc), and one thread on CPU 0.

likwid-bench calls its loop for each pass over the vectors, which takes a few percent of the time in
the first-level cache. For this comparison, the probe does the same.
"""

import os
import re
import shutil
import statistics
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench.measure import machine
from bench.tables import ResultTable, publish
from numascape.errors import NumascapeError
from numascape.machine.measuring import run_probe
from numascape.machine.sizes import outside_bytes
from numascape.machine.sources import read_host

console = Console(stderr=True)
# Makes glibc's malloc use huge pages (glibc 2.35 and newer).
HUGE = {**os.environ, "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
CPU = 0
# likwid-bench's name of the same loop, by instruction set.
LIKWID = {
    "read": {"avx512": "sum_avx512", "avx2": "sum_avx", "sse2": "sum_sse"},
    "copy": {"avx512": "copy_avx512", "avx2": "copy_avx", "sse2": "copy_sse"},
    "triad": {"avx512": "triad_avx512_fma", "avx2": "triad_avx_fma", "sse2": "triad_sse"},
    "stream": {"avx512": "stream_avx512_fma", "avx2": "stream_avx_fma", "sse2": "stream_sse"},
}
# Bytes that likwid-bench moves in one round: its number of passes follows from them.
LIKWID_VOLUME = 4 << 30
SAMPLE_MS = 50


@dataclass(frozen=True)
class Comparison:
    """One row: a measurement by us and by another tool; each returns its samples of a round.

    `typical` is the statistic that the other tool prints.
    """

    name: str
    unit: str
    ours: Callable[[], tuple[float, ...]]
    theirs: Callable[[], float]
    allowed: float
    more_is_better: bool
    typical: Callable[[Sequence[float]], float] = statistics.median


def output(command: list[str]) -> str:
    result = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, env=HUGE
    )
    return result.stdout


def number(pattern: str, text: str) -> float:
    found = re.search(pattern, text, re.MULTILINE)
    if found is None:
        raise NumascapeError(f"cannot read what was printed: {text[-300:]!r}")
    return float(found[1])


def our_bandwidth(operation: str, size: int, samples: int = 5) -> tuple[float, ...]:
    found = run_probe(
        "bandwidth", operation=operation, cpus=[CPU], nodes=[0], bytes=size, samples=samples,
        sample_ms=SAMPLE_MS, calls="each",
    )  # fmt: skip
    return found.points[0].samples


def our_latency(size: int) -> tuple[float, ...]:
    found = run_probe("latency", cpu=CPU, node=0, bytes=size, samples=5, sample_ms=2 * SAMPLE_MS)
    return found.points[0].samples


def likwid_bandwidth(kernel: str, size: int) -> float:
    rounds = max(LIKWID_VOLUME // size, 3)
    command = ["likwid-bench", "-t", kernel, "-w", f"S0:{size}B:1", "-i", str(rounds)]
    return number(r"^MByte/s:\s+([\d.]+)", output(command)) / 1000


def multichase_latency(program: Path, size: int) -> float:
    # -H: huge pages; -s 64: a cache line each; -T: no locality of pages; -n: half seconds.
    # It binds its thread itself. Its other thread, which takes the samples, needs another free CPU.
    command = [str(program), "-m", str(size), "-s", "64", "-T", str(size), "-n", "5", "-H"]
    return number(r"^\s*([\d.]+)\s*$", output(command))


def stream_triad(program: Path) -> float:
    command = ["taskset", "-c", str(CPU), str(program)]
    return number(r"^Triad:\s+([\d.]+)", output(command)) / 1000


def prefer_these_programs() -> str:
    """Give this process and its children real-time priority; return whether this succeeded."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        return "at the usual priority"
    return "with real-time priority"


def cases(multichase: Path | None, stream: Path | None) -> list[Comparison]:
    host = read_host()
    memory = outside_bytes(host, quick=True)
    instructions = run_probe("bandwidth", operation="read", cpus=[CPU], bytes=4096).setting
    sizes = {"L1": 32 << 10, "L2": 512 << 10, "memory": memory}
    found = []
    for operation, names in LIKWID.items():
        kernel = names[instructions.instructions]
        for place, size in sizes.items():
            found.append(
                Comparison(
                    f"{operation}, {place}: likwid-bench {kernel}",
                    "GB/s",
                    lambda o=operation, s=size: our_bandwidth(o, s),  # type: ignore[misc]
                    lambda k=kernel, s=size: likwid_bandwidth(k, s),  # type: ignore[misc]
                    0.03,
                    more_is_better=True,
                )
            )
    if stream is not None:
        found.append(
            Comparison("stream, memory: STREAM's triad", "GB/s",
                 lambda: our_bandwidth("stream", memory, samples=9),
                 lambda: stream_triad(stream), 0.03, more_is_better=True, typical=max)
        )  # fmt: skip
    if multichase is not None:
        for place, size in sizes.items():
            found.append(
                Comparison(
                    f"latency, {place}: multichase",
                    "ns",
                    lambda s=size: our_latency(s),  # type: ignore[misc]
                    lambda s=size: multichase_latency(multichase, s),  # type: ignore[misc]
                    0.05,
                    more_is_better=False,
                    typical=min,
                )
            )
    return found


def compared(case: Comparison, rounds: int) -> list[str | float | None]:
    """A row: both tools' medians, their ratio, and the ratio of their best values."""
    ours: list[float] = []
    medians: list[float] = []
    theirs: list[float] = []
    for _ in range(rounds):
        samples = case.ours()
        ours += samples
        medians.append(case.typical(samples))
        theirs.append(case.theirs())
    ratio = statistics.median(mine / other for mine, other in zip(medians, theirs, strict=True))
    best = max if case.more_is_better else min
    within = "yes" if abs(ratio - 1) <= case.allowed else "no"
    return [
        f"{case.name}, {case.unit}", statistics.median(medians), statistics.median(theirs), ratio,
        f"{within} ({case.allowed:.0%})", best(ours), best(theirs),
    ]  # fmt: skip


def main(
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of each comparison.")] = 15,
    multichase: Annotated[Path | None, typer.Option(help="The program multichase.")] = None,
    stream: Annotated[Path | None, typer.Option(help="STREAM, for one thread.")] = None,
    write: Annotated[bool, typer.Option(help="Write bench/results/probe.md and .json.")] = True,
) -> None:
    """Compare the probe with the usual tools for these measurements."""
    if shutil.which("likwid-bench") is None:
        console.print("likwid-bench is missing: install likwid (Debian's package)")
        raise typer.Exit(2)
    rows = []
    priority = prefer_these_programs()
    try:
        for case in cases(multichase, stream):
            console.print(f"{case.name}: {rounds} rounds")
            rows.append(compared(case, rounds))
    except (NumascapeError, subprocess.CalledProcessError) as failure:
        console.print(str(failure), markup=False)
        raise typer.Exit(1) from None
    table = ResultTable(
        "The probe next to other tools, one thread",
        ["figure and other tool", "ours, median", "theirs, median", "ratio", "within",
         "ours, best", "theirs, best"],
        rows,
        f"{rounds} rounds, alternating, {priority}; the ratio is the median of the rounds' "
        "ratios. STREAM prints the best of its nine passes and multichase the best of five half "
        "seconds: next to them stand the best of our nine and five samples.",
    )  # fmt: skip
    publish("probe", machine(), [table], write)


if __name__ == "__main__":
    typer.run(main)
