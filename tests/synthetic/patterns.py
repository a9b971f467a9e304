# SPDX-License-Identifier: Apache-2.0
"""Traces whose tables follow from closed forms, for tests of code that reads traces.

Each function returns :class:`Pattern`: the trace's tables (see docs/trace-format.md) and the text
of trace.json as a dictionary. Numbers of pages and threads are chosen by the caller; counts are
those of the algorithm, not measurements.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from numascape.trace.schema import SCHEMAS

_END_NS = 2_100_000_000
PAGE = 4096
DOUBLES = PAGE // 8


@dataclass
class Pattern:
    """Collects the tables of a trace, structure by structure."""

    program: str
    threads: int
    arguments: list[str] = field(default_factory=list)
    structures: list[dict[str, Any]] = field(default_factory=list)
    accesses: list[pl.DataFrame] = field(default_factory=list)
    first_touch: list[pl.DataFrame] = field(default_factory=list)
    touches: int = 0
    page_size: int = PAGE
    phases: list[tuple[Any, ...]] = field(default_factory=list)
    spans: list[tuple[int, int, int]] = field(default_factory=list)
    lines: list[tuple[Any, ...]] = field(default_factory=list)
    estimated: list[int] = field(default_factory=list)  # of each line; none: not told
    instances: list[tuple[int, int, int, int]] = field(default_factory=list)
    transfers: list[tuple[Any, ...]] = field(default_factory=list)  # none: not recorded
    seen_lines: list[tuple[int, ...]] = field(default_factory=list)  # none: not recorded
    placed_by_first_touch: bool = False

    def phase(self, name: str, line: int = 0, repetitions: int = 1) -> int:
        """Add a phase of 10 ms, repeated in turn with those added before, and return its id."""
        number = len(self.phases)
        start = max((end for _, _, end in self.spans), default=0)
        length = 10_000_000
        for i in range(repetitions):
            begin = start + 2 * i * length
            self.spans.append((number, begin, begin + length))
        end = start + (2 * repetitions - 1) * length
        file = f"{self.program}.c" if line else ""
        self.phases.append((number, name, file, line, start, end, repetitions))
        return number

    def used_at(
        self, structure: int, function: str, line: int, reads: int, writes: int, phase: int = 0
    ) -> None:
        """Say that a source line uses a structure."""
        file = f"{self.program}.c"
        self.lines.append((structure, phase, function, file, line, reads, writes))

    def take_lines(
        self, structure: int, page: int, threads: tuple[int, int], counts: tuple[int, int, int]
    ) -> None:
        """Say how often a line of 64 bytes went from one thread to another, who use 8 bytes each.

        `counts`: how often it travelled, how often both sides are known, and of these with the
        same bytes.
        """
        source, target = threads
        travelling, judged, shared = counts
        file = f"{self.program}.c"
        places = ("work", file, 70, "work", file, 71)
        masks = (0xFF << 8 * (source % 8), 0xFF << 8 * (target % 8))
        self.transfers.append(
            (
                *(structure, 0, page, page % 64, source, target, 0, *places, *masks),
                *(travelling, travelling, judged, shared),
            )
        )

    def see(
        self,
        structure: int,
        page: int,
        thread: int,
        lines: int,
        *,
        line: int = -1,
        bytes_: int = 0,
        times: int = 1,
        alone: int = 0,
        writing: int = 0,
        phase: int = 0,
    ) -> None:
        """Say that samples saw the thread use these lines of the page (a bit for each)."""
        row = (structure, 0, page, line, thread, phase, lines, bytes_, times, alone, writing)
        self.seen_lines.append(row)

    def structure(self, name: str, pages: int, **columns: Any) -> int:
        """Add a structure and return its id."""
        number = len(self.structures)
        row = {
            "structure": number,
            "process": 0,
            "name": name,
            "kind": "heap",
            "size": pages * PAGE,
            "pages": pages,
            "instances": 1,
            "module": self.program,
            "function": "main",
            "file": f"{self.program}.c",
            "line": 40 + number,
            "call_stack": [f"main ({self.program}.c:{40 + number})"],
            "named": True,
        }
        self.structures.append({**row, **columns})
        return number

    def access(
        self,
        structure: int,
        page: np.ndarray[Any, Any],
        thread: np.ndarray[Any, Any] | int,
        reads: np.ndarray[Any, Any] | int,
        writes: np.ndarray[Any, Any] | int,
        *,
        instance: int = 0,
        phase: int = 0,
    ) -> None:
        """Add accesses; the arrays are broadcast against each other, zero rows left out."""
        every = [a.ravel() for a in np.broadcast_arrays(page, thread, reads, writes)]
        made = (every[2].astype(np.uint64) | every[3].astype(np.uint64)) > 0
        p, t, r, w = (a[made] for a in every)
        table = pl.DataFrame(
            {
                "structure": np.full(len(p), structure, np.uint32),
                "instance": np.full(len(p), instance, np.uint32),
                "page": p.astype(np.uint32),
                "thread": t.astype(np.uint32),
                "phase": np.full(len(p), phase, np.uint32),
                "reads": r.astype(np.uint64),
                "writes": w.astype(np.uint64),
            }
        )
        self.accesses.append(table)

    def touch(
        self,
        structure: int,
        page: np.ndarray[Any, Any],
        thread: np.ndarray[Any, Any] | int,
        function: str = "init",
        line: int = 20,
        *,
        instance: int = 0,
        phase: int = 0,
    ) -> None:
        """Add first touches in the order given."""
        p, t = (a.ravel() for a in np.broadcast_arrays(page, thread))
        order = np.arange(self.touches, self.touches + len(p), dtype=np.uint64)
        self.touches += len(p)
        self.first_touch.append(
            pl.DataFrame(
                {
                    "structure": np.full(len(p), structure, np.uint32),
                    "instance": np.full(len(p), instance, np.uint32),
                    "page": p.astype(np.uint32),
                    "thread": t.astype(np.uint32),
                    "phase": np.full(len(p), phase, np.uint32),
                    "order": order,
                    "time_ns": order * 1000,
                    "function": pl.repeat(function, len(p), eager=True),
                    "file": pl.repeat(f"{self.program}.c", len(p), eager=True),
                    "line": np.full(len(p), line, np.uint32),
                }
            )
        )

    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables, named as in the trace."""
        accesses = pl.concat(self.accesses)
        first_touch = pl.concat(self.first_touch)
        threads = np.arange(self.threads, dtype=np.uint32)
        recorded = {
            name: self._frame(name, rows)
            for name, rows in (("transfers", self.transfers), ("seen_lines", self.seen_lines))
            if rows
        }
        return recorded | {
            "structures": pl.DataFrame(self.structures, schema=_STRUCTURES, orient="row"),
            "accesses": accesses,
            "first_touch": first_touch,
            "threads": pl.DataFrame(
                {
                    "thread": threads,
                    "process": np.zeros(self.threads, np.uint32),
                    "os_tid": threads + 4000,
                    "name": [
                        self.program if t == 0 else f"worker {t}" for t in range(self.threads)
                    ],
                    "created_ns": threads.astype(np.uint64) * 10_000,
                    "ended_ns": np.full(self.threads, _END_NS, np.uint64),
                    "cpus": [[t % 64] for t in range(self.threads)],
                    "nodes": [[t % 64 // 16] for t in range(self.threads)],
                },
                schema_overrides={"cpus": pl.List(pl.UInt32), "nodes": pl.List(pl.UInt32)},
            ),
            "placement": first_touch.select(
                "structure",
                "instance",
                "page",
                node=(pl.col("thread") % 64 // 16 * self.placed_by_first_touch).cast(pl.Int32),
            ),
            "phases": self._frame("phases", self.phases or [(0, "run", "", 0, 0, _END_NS, 1)]),
            "phase_spans": self._frame("phase_spans", sorted(self.spans, key=lambda span: span[1])),
            "source_lines": self._lines(),
            "instances": self._frame("instances", self.instances),
        }

    def _lines(self) -> pl.DataFrame:
        frame = self._frame("source_lines", self.lines)
        if self.estimated:
            frame = frame.with_columns(estimated=pl.Series(self.estimated, dtype=pl.UInt64))
        return frame

    @staticmethod
    def _frame(table: str, rows: list[tuple[Any, ...]]) -> pl.DataFrame:
        return pl.DataFrame(rows, schema=SCHEMAS[table], orient="row")

    def info(self) -> dict[str, Any]:
        """The content of trace.json."""
        accesses = pl.concat(self.accesses)
        return {
            "format": "numascape-trace",
            "version": 1,
            "program": f"/home/ada/codes/{self.program}",
            "arguments": self.arguments,
            "recorder": {"name": "binary", "version": "0.1.0", "options": {"stack": True}},
            "host": {
                "name": "turing",
                "kernel": "6.1.0-13-amd64",
                "cpus": 64,
                "nodes": 4,
                "memory_bytes": 4 << 35,
            },
            "machine": {
                "name": "4 x 16 CPUs",
                "nodes": [
                    {"node": n, "cpus": list(range(16 * n, 16 * n + 16)), "memory_bytes": 1 << 35}
                    for n in range(4)
                ],
            },
            "page_size": self.page_size,
            "started": "2026-03-14T09:26:53+01:00",
            "times": {"wall_s": 2.1, "cpu_s": 61.7, "native_cpu_s": 24.9},
            "exit_status": 0,
            "processes": [
                {"process": 0, "pid": 4000, "program": f"/home/ada/codes/{self.program}"}
            ],
            "totals": {
                "reads": int(accesses["reads"].sum()),
                "writes": int(accesses["writes"].sum()),
                "pages": sum(len(table) for table in self.first_touch),
                "threads": self.threads,
            },
            "attributed_share": 0.987,
            "unseen": [
                "Accesses that the kernel makes for the program (read, write) are not counted."
            ],
        }


_STRUCTURES: dict[str, Any] = {
    "structure": pl.UInt32,
    "process": pl.UInt32,
    "name": pl.String,
    "kind": pl.String,
    "size": pl.UInt64,
    "pages": pl.UInt32,
    "instances": pl.UInt32,
    "module": pl.String,
    "function": pl.String,
    "file": pl.String,
    "line": pl.UInt32,
    "call_stack": pl.List(pl.String),
    "named": pl.Boolean,
}


def stacks(pattern: Pattern) -> None:
    """Add a small stack for every thread, used by its owner only."""
    for t in range(pattern.threads):
        stack = pattern.structure(
            f"Stack#{t}", 2048, kind="stack", function="", file="", line=0, call_stack=[]
        )
        page = np.array([2045, 2046, 2047])
        pattern.access(
            stack, page, np.array(t), np.array([40, 900, 2400]), np.array([30, 700, 900])
        )
        pattern.touch(stack, page[::-1], t, "start", 8)


def naive_matmul(n: int = 1024, threads: int = 64) -> Pattern:
    """C = A * B; thread t computes columns t, t + threads, ...; thread 0 initialises.

    Per element of C: n reads of a row of A and of a column of B, one write of C.
    """
    pattern = Pattern("matmul", threads, ["--size", str(n), "--threads", str(threads)])
    pages = n * n * 8 // PAGE
    page, thread = np.arange(pages)[None, :], np.arange(threads)[:, None]
    columns = n // threads
    per_page = DOUBLES // threads * n  # elements of a page that lie in a thread's columns, n times
    reads = {"A": DOUBLES * columns, "B": per_page, "C": 0}
    for name in ("A", "B", "C"):
        s = pattern.structure(name, pages, line=61 + "ABC".index(name), function="allocate")
        start = (thread == 0) * DOUBLES
        writes = start + (DOUBLES // threads if name == "C" else 0)
        pattern.access(s, page, thread, reads[name], writes)
        pattern.touch(s, page, 0, "initialise", 74)
    stacks(pattern)
    return pattern


def block_matmul(n: int = 1024, threads: int = 64) -> Pattern:
    """C = A * B; thread t computes rows t n / threads ... ; each initialises its rows of A, C."""
    pattern = Pattern("matmul", threads, ["--size", str(n), "--threads", str(threads), "--block"])
    pages = n * n * 8 // PAGE
    page, thread = np.arange(pages)[None, :], np.arange(threads)[:, None]
    own = page * threads // pages == thread
    rows = n // threads
    for name, reads, writes in (
        ("A", own * DOUBLES * n, own * DOUBLES),
        ("B", rows * DOUBLES, own * DOUBLES),
        ("C", 0, own * DOUBLES * 2),
    ):
        s = pattern.structure(name, pages, line=61 + "ABC".index(name), function="allocate")
        pattern.access(s, page, thread, np.asarray(reads), np.asarray(writes))
        pattern.touch(s, page, page * threads // pages, "initialise", 82)
    stacks(pattern)
    return pattern


def bucket_sort(pages: int = 2048, threads: int = 64) -> Pattern:
    """The key buffer's bell curve: each key is the mean of four uniform draws."""
    pattern = Pattern("bucketsort", threads, ["--keys", str(pages * 1024)])
    x = (np.arange(pages) + 0.5) / pages * 4
    bell = np.where(  # density of the sum of four uniform draws (Irwin-Hall, n = 4)
        x < 1,
        x**3,
        np.where(x < 2, -3 * x**3 + 12 * x**2 - 12 * x + 4, 0),
    )
    bell = np.where(x >= 2, bell[::-1], bell) / 6
    thread = np.arange(threads)[:, None]
    page = np.arange(pages)[None, :]
    keys = np.rint(bell * 40_000).astype(np.int64)[None, :]
    jitter = 1 + ((page * 7919 + thread * 104_729) % 97) / 400
    key_buffer = pattern.structure("key_buff", pages, line=33, kind="global", function="")
    pattern.access(key_buffer, page, thread, keys * 2 * jitter, keys * jitter)
    pattern.touch(key_buffer, page, 0, "alloc_key_buff", 112)
    array = pattern.structure("key_array", pages, line=34, kind="global", function="")
    own = page * threads // pages == thread
    pattern.access(array, page, thread, own * 3072, own * 1024)
    pattern.touch(array, page, page * threads // pages, "create_seq", 140)
    pointers = pattern.structure("bucket_ptrs", 64, line=35, kind="global", function="")
    few = np.arange(64)[None, :]
    pattern.access(pointers, few, thread, 60_000 * (few % threads == thread), 30_000)
    pattern.touch(pointers, few, few % threads, "rank", 201)
    stacks(pattern)
    return pattern


def seismic(pages: int = 6000, threads: int = 64, parallel: bool = False) -> Pattern:
    """Field arrays of a stencil: thread t works on its slab and reads one plane of each side."""
    arguments = ["--grid", "192", "--init", "parallel" if parallel else "serial"]
    pattern = Pattern("seismic", threads, arguments, placed_by_first_touch=parallel)
    thread = np.arange(threads)[:, None]
    page = np.arange(pages)[None, :]
    owner = page * threads // pages
    halo = max(1, pages // 192)
    near = (np.maximum(page - halo, 0) * threads // pages <= thread) & (
        np.minimum(page + halo, pages - 1) * threads // pages >= thread
    )
    own = owner == thread
    for i, name in enumerate(("vx", "vy", "vz", "sxx", "syy", "szz", "sxy", "sxz", "syz", "rho")):
        s = pattern.structure(
            f"grid->{name}",
            pages,
            line=88 + i,
            function="allocate_grid",
            call_stack=[f"allocate_grid (seismic.c:{88 + i})", "main (seismic.c:300)"],
        )
        fixed = name == "rho"
        start = own * DOUBLES if parallel else (thread == 0) * DOUBLES
        reads = np.where(own, 20 * DOUBLES * 3, np.where(near, 20 * DOUBLES // 2, 0))
        pattern.access(s, page, thread, reads, own * (0 if fixed else 20 * DOUBLES) + start)
        pattern.touch(s, page, owner if parallel else 0, "initialise_grid", 131)
    stacks(pattern)
    return pattern


def many_threads(threads: int = 1024, pages: int = 8192, shared: int = 1024) -> Pattern:
    """Every thread owns a band of one array and reads all `shared` pages of another."""
    pattern = Pattern("manythreads", threads)
    thread = np.arange(threads)[:, None]
    page = np.arange(pages)[None, :]
    own = page * threads // pages == thread
    field = pattern.structure("field", pages)
    noise = (page * 31 + thread * 17) % 64
    pattern.access(field, page, thread, own * 5000 + (noise == 0) * noise, own * 2500)
    pattern.touch(field, page, page * threads // pages)
    table = pattern.structure("table", shared)
    few = np.arange(shared)[None, :]
    pattern.access(table, few, thread, 100 + (few * thread) % 900, 0)
    pattern.touch(table, few, 0)
    return pattern


def many_phases(threads: int = 64, phases: int = 64, pages: int = 2048) -> Pattern:
    """Each phase, a time step, moves every thread's part by some pages, and reads a table."""
    pattern = Pattern("manyphases", threads)
    pattern.placed_by_first_touch = True
    field, table = pattern.structure("field", pages), pattern.structure("table", 256)
    thread, page = np.arange(threads)[:, None], np.arange(pages)[None, :]
    few = np.arange(256)[None, :]
    for step in range(phases):
        phase = pattern.phase(f"step {step}", line=100 + step, repetitions=1 + step % 4)
        own = (page + 16 * step) % pages * threads // pages == thread
        noise = (page * 31 + thread * 17 + step * 7) % 64
        pattern.access(field, page, thread, own * (5000 + 40 * noise), own * 2500, phase=phase)
        pattern.access(table, few, thread, 100 + few * (thread + step) % 90, 0, phase=phase)
        sums = pl.concat(pattern.accesses[-2:]).group_by("structure", maintain_order=True).sum()
        for number, name in ((field, "update"), (table, "look_up")):
            row = sums.row(number, named=True)
            pattern.used_at(number, name, 200 + step, row["reads"], row["writes"], phase)
    pattern.touch(field, page, page * threads // pages)
    pattern.touch(table, few, 0)
    return pattern


def many_pages(pages: int = 10_000_000, threads: int = 64) -> Pattern:
    """One large array, split among the threads, touched first by thread 0."""
    pattern = Pattern("manypages", threads)
    page = np.arange(pages)
    large = pattern.structure("large", pages)
    noise = (page * 2_654_435_761 >> 7) % 1000
    pattern.access(large, page, page * threads // pages, 512 + noise, 512)
    pattern.touch(large, page, 0)
    return pattern


HOSTILE = (
    "</script><script>window.pwned = 1</script>",
    '"><img src=x onerror="window.pwned = 1">',
    "<!--",
    "\u202egnp.exe\x00\x1b[31m",
    "&lt;b&gt;${1+1}{{7*7}}",
    "very::long<" + "template_argument, " * 526 + "0>",
)


def hostile() -> Pattern:
    """Names made to break out of the page, and one of 10 000 characters."""
    pattern = Pattern("</title><script>window.pwned = 1</script>", 4, ["<i>", "--", "</script>"])
    for i, name in enumerate(HOSTILE):
        s = pattern.structure(name, 16, function=name, file=name, module=name, call_stack=[name])
        page, thread = np.arange(16)[None, :], np.arange(4)[:, None]
        pattern.access(s, page, thread, (6 - i) * 100, 10)
        pattern.touch(s, page, 0, name, 1)
    return pattern


def sparse() -> Pattern:
    """A terabyte mapping with three touched islands, and a structure that nobody used."""
    pattern = Pattern("sparse", 2)
    s = pattern.structure("reservation", 1 << 28, kind="mapping")
    for start in (0, 1 << 20, (1 << 28) - 4):
        page = np.arange(start, start + 4)
        pattern.access(s, page, np.array(1), 7, 1)
        pattern.touch(s, page, 1)
    pattern.structure("unused", 100)
    return pattern


PATTERNS = {
    "matmul-naive": naive_matmul,
    "matmul-block": block_matmul,
    "bucketsort": bucket_sort,
    "seismic-serial": seismic,
    "seismic-parallel": lambda: seismic(parallel=True),
    "many-threads": many_threads,
    "many-pages": many_pages,
    "many-phases": many_phases,
    "hostile": hostile,
    "sparse": sparse,
}
