# SPDX-License-Identifier: Apache-2.0
"""Compares Numascape's recorders with other tools that show how a program uses memory.

Native and observed runs of the same programs alternate. A cost is that of the whole command, from
the shell's prompt to what the tool leaves on the disk. Tools that are not installed are left out.
"""

import math
import os
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from matplotlib.figure import Figure
from rich.console import Console

import numascape
from bench import compiled
from bench.measure import CommandError, Cost, machine, run
from bench.observers import NATIVE, record_command
from bench.programs import PROGRAMS, Program, build
from bench.tables import RESULTS, ResultTable, publish
from numascape.figures.drawing import save

CHOSEN = ("matmul naive", "bucketsort dynamic", "seismic serial", "spmv", "pointer_chase",
          "containers")  # fmt: skip
MEBIBYTE = 2.0**20
console = Console(stderr=True)


@dataclass(frozen=True)
class ObservedRun:
    """One observed run; shares are of all counted accesses, or None if nothing is counted."""

    cost: Cost
    left_bytes: int
    accesses: int | None = None
    named: float | None = None


Observe = Callable[[Sequence[str], Path], ObservedRun]


@dataclass(frozen=True)
class Peer:
    """A tool; `counts` says whose accesses it counts. A `slow` tool runs at reduced sizes."""

    name: str
    observe: Observe
    counts: str
    needs: str = "sh"
    slow: bool = False
    compiled: bool = False


def size_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def numascape_run(
    command: Sequence[str], folder: Path, recorder: str = "binary", options: Sequence[str] = ()
) -> ObservedRun:
    trace = folder / "run.numascape"
    words = record_command(trace, command, recorder)
    where = words.index("--")
    cost = run([*words[:where], *options, *words[where:]])
    if recorder == "faults":
        return ObservedRun(cost, size_of(trace))
    opened = numascape.open(trace)
    per_structure = opened.accesses.group_by("structure").agg(
        accesses=pl.col("reads").sum() + pl.col("writes").sum()
    )
    total = int(per_structure["accesses"].sum())
    named = opened.structures.filter("named").select("structure")
    of_named = int(per_structure.join(named, on="structure", how="semi")["accesses"].sum())
    # Samples are shares, not numbers of accesses.
    counted = None if recorder == "samples" else total
    return ObservedRun(cost, size_of(trace), counted, of_named / max(1, total))


def valgrind(tool: str, output: str, command: Sequence[str], folder: Path) -> Cost:
    words = ["valgrind", "-q", f"--tool={tool}", f"{output}={folder / 'out'}"]
    extra = ["--trace-mem=yes", "--basic-counts=no"] if tool == "lackey" else []
    return run([*words, *extra, *command])


def cachegrind(command: Sequence[str], folder: Path) -> ObservedRun:
    cost = valgrind("cachegrind", "--cachegrind-out-file", command, folder)
    events: list[str] = []
    for line in (folder / "out").read_text().splitlines():
        if line.startswith("events:"):
            events = line.split()[1:]
        if line.startswith("summary:"):
            counts = dict(zip(events, map(int, line.split()[1:]), strict=True))
            return ObservedRun(cost, size_of(folder), counts["Dr"] + counts["Dw"], 0.0)
    raise CommandError("cachegrind left no summary")


def dhat(command: Sequence[str], folder: Path) -> ObservedRun:
    return ObservedRun(valgrind("dhat", "--dhat-out-file", command, folder), size_of(folder))


def lackey(command: Sequence[str], folder: Path) -> ObservedRun:
    cost = valgrind("lackey", "--log-file", command, folder)
    accesses = 0
    with (folder / "out").open() as lines:
        for line in lines:
            # A modification counts as a load and a store.
            accesses += {" L": 1, " S": 1, " M": 2}.get(line[:2], 0)
    return ObservedRun(cost, size_of(folder), accesses, 0.0)


def perf_faults(command: Sequence[str], folder: Path) -> ObservedRun:
    options = ["-q", "-d", "-e", "page-faults", "-c", "1", "-o", str(folder / "perf.data")]
    return ObservedRun(run(["perf", "record", *options, *command]), size_of(folder))


def heaptrack(command: Sequence[str], folder: Path) -> ObservedRun:
    return ObservedRun(run(["heaptrack", "-o", str(folder / "heap"), *command]), size_of(folder))


PEERS = (
    Peer("Numascape, binary", numascape_run, "structures, pages, threads, lines"),
    Peer("Numascape, --sample 0.01", partial(numascape_run, options=["--sample", "0.01"]),
         "the same, as estimates with errors"),
    Peer("Numascape, --traffic", partial(numascape_run, options=["--traffic"]),
         "as binary, and lines from memory"),
    Peer("Numascape, compiled", partial(numascape_run, recorder="compiled"),
         "structures, pages, threads, lines", compiled=True),
    Peer("Numascape, samples", partial(numascape_run, recorder="samples"),
         "shares of structures, pages, threads"),
    Peer("Numascape, faults", partial(numascape_run, recorder="faults"), "first touches"),
    Peer("cachegrind", cachegrind, "source lines", "valgrind"),
    Peer("dhat", dhat, "allocations", "valgrind"),
    Peer("lackey --trace-mem", lackey, "addresses", "valgrind", slow=True),
    Peer("perf record -d, faults", perf_faults, "first touches", "perf"),
    Peer("heaptrack", heaptrack, "allocations, no accesses", "heaptrack"),
)  # fmt: skip
COLUMNS = ("", "CPU over native", "largest", "without start", "peak, MiB", "left, MiB",
           "accesses, % of exact", "in named structures, %", "counts by")  # fmt: skip


@dataclass
class PeerRuns:
    """The results of a tool: for each program, the ratios and the last run."""

    ratios: dict[str, list[float]] = field(default_factory=dict)
    without_start: dict[str, list[float]] = field(default_factory=dict)
    last: dict[str, ObservedRun] = field(default_factory=dict)

    def add(self, program: str, seen: ObservedRun, native_s: float, start_s: float) -> None:
        self.ratios.setdefault(program, []).append(seen.cost.cpu_s / native_s)
        own = max(seen.cost.cpu_s - start_s, 0.0) / native_s
        self.without_start.setdefault(program, []).append(own)
        self.last[program] = seen


def observed(peer: Peer, command: Sequence[str]) -> ObservedRun:
    with tempfile.TemporaryDirectory() as folder:
        return peer.observe(command, Path(folder))


def command_of(peer: Peer, program: Program) -> list[str]:
    if not peer.compiled:
        return program.command(reduced=peer.slow)
    return [str(compiled.build(program, 1).counted), *program.arguments]


def built_by_clang(program: Program) -> list[str]:
    """The program without the compiled recorder; `command_of` has built it."""
    return [str(compiled.BUILD / f"{compiled.source_of(program).stem}-clang"), *program.arguments]


def measure(peers: Sequence[Peer], rounds: int) -> dict[str, PeerRuns]:
    programs = [program for program in PROGRAMS if program.name in CHOSEN]
    starts = {}
    for peer in peers:
        # The compiled recorder starts as the binary one does, and needs a program of its own.
        of = PEERS[0] if peer.compiled else peer
        starts[peer.name] = observed(of, ["/bin/true"]).cost.cpu_s
    found = {peer.name: PeerRuns() for peer in peers}
    for program in programs:
        console.print(f"{program.name}: {rounds} rounds")
        commands = {peer.name: command_of(peer, program) for peer in peers}
        for _ in range(rounds):
            full = NATIVE.run(program.command()).cpu_s
            for peer in peers:
                native_s = full
                if peer.slow:
                    runs = [NATIVE.run(commands[peer.name]).cpu_s for _ in range(9)]
                    native_s = statistics.median(runs)
                elif peer.compiled:
                    native_s = NATIVE.run(built_by_clang(program)).cpu_s
                seen = observed(peer, commands[peer.name])
                found[peer.name].add(program.name, seen, native_s, starts[peer.name])
    return found


def exact_counts(peers: Sequence[Peer], found: dict[str, PeerRuns]) -> dict[str, dict[str, int]]:
    """The accesses of each program that the binary recorder counts, at each tool's sizes."""
    exact: dict[str, dict[str, int]] = {}
    for peer in peers:
        for program in (program for program in PROGRAMS if program.name in CHOSEN):
            if peer.slow:
                seen = observed(PEERS[0], program.command(reduced=True))
            elif peer.compiled:
                seen = observed(PEERS[0], built_by_clang(program))
            elif PEERS[0].name in found:
                seen = found[PEERS[0].name].last[program.name]
            else:
                seen = observed(PEERS[0], program.command())
            exact.setdefault(peer.name, {})[program.name] = seen.accesses or 0
    return exact


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(statistics.fmean(math.log(max(value, 1e-3)) for value in values))


def row_of(peer: Peer, found: PeerRuns, exact: dict[str, int]) -> list[str | float | None]:
    ratios = [statistics.median(values) for values in found.ratios.values()]
    own = [statistics.median(values) for values in found.without_start.values()]
    seen = found.last
    counted = {name: one.accesses for name, one in seen.items() if one.accesses is not None}
    named = [one.named for one in seen.values() if one.named is not None]
    shares = [count / exact[name] for name, count in counted.items()]
    return [
        peer.name, geometric_mean(ratios), max(ratios), geometric_mean(own),
        max(one.cost.peak_bytes for one in seen.values()) / MEBIBYTE,
        statistics.median(one.left_bytes for one in seen.values()) / MEBIBYTE,
        100 * statistics.fmean(shares) if shares else None,
        100 * statistics.fmean(named) if named else None,
        peer.counts,
    ]  # fmt: skip


def figure(table: ResultTable) -> Figure:
    """Draw bars of the CPU time over native, without the start, on a logarithmic axis."""
    drawn = Figure(figsize=(8, 0.35 * len(table.rows) + 1.2), layout="constrained")
    ax = drawn.subplots()
    rows = list(reversed(table.rows))
    values = [float(row[3] or 0) for row in rows]
    colours = ["#2a6fbb" if str(row[0]).startswith("Numascape") else "#999999" for row in rows]
    bars = ax.barh([str(row[0]) for row in rows], values, color=colours)
    labels = [f"{value:.3g} x, {row[8]}" for value, row in zip(values, rows, strict=True)]
    ax.bar_label(bars, labels, padding=4, fontsize=8)
    ax.set_xscale("log")
    ax.set_xlim(0.5, max(values) * 300)
    ax.set_xlabel("CPU time over native, geometric mean of the programs, without the tool's start")
    return drawn


def main(
    only: Annotated[list[str] | None, typer.Argument(help="Tools; by default all.")] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of each measurement.")] = 3,
    write: Annotated[bool, typer.Option(help="Write bench/results/peers.*.")] = True,
) -> None:
    """Compare tools that show how a program uses memory."""
    wanted = [peer for peer in PEERS if not only or any(word in peer.name for word in only)]
    peers = [peer for peer in wanted if shutil.which(peer.needs)]
    for peer in wanted:
        if peer not in peers:
            console.print(f"{peer.name} is left out: {peer.needs} is not installed")
    load = os.getloadavg()[0]
    try:
        build()
        found = measure(peers, rounds)
        exact = exact_counts(peers, found)
    except (CommandError, subprocess.CalledProcessError) as failure:
        console.print(str(failure), markup=False)
        raise typer.Exit(1) from None
    table = ResultTable(
        "Tools that show how a program uses memory",
        COLUMNS,
        [row_of(peer, found[peer.name], exact[peer.name]) for peer in peers],
        f"Programs: {', '.join(CHOSEN)}. CPU time of the whole command over that of the program "
        f"alone: geometric mean and largest of the programs' medians of {rounds} rounds, all tools "
        "in turn. Without start: less what the tool takes for /bin/true. Peak: the largest process "
        "of all runs. Left: what stays on the disk, median of the programs. Exact: what the binary "
        "recorder counts in the same program, which tests compare with closed forms; the compiled "
        "recorder leaves out registers that the compiler keeps on the stack. lackey runs at sizes "
        "of some milliseconds. This machine has no hardware events, so perf samples page faults "
        "only; drcachesim is not in the sources of DynamoRIO that we build; MALT and numaprof are "
        "in none of the registries that the build uses.",
    )
    about = {**machine(), "other_work": f"load average {load:.1f} before the first round"}
    publish("peers", about, [table], write)
    if write:
        save(figure(table), RESULTS / "peers.png")


if __name__ == "__main__":
    typer.run(main)
