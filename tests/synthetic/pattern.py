# SPDX-License-Identifier: Apache-2.0
"""A trace that a test makes: its tables, and what is in trace.json."""

from __future__ import annotations

from collections.abc import Iterable
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
    estimated: list[int] = field(default_factory=list)  # of each line; empty: not known
    instances: list[tuple[int, int, int, int]] = field(default_factory=list)
    transfers: list[tuple[Any, ...]] = field(default_factory=list)  # none: not recorded
    seen_lines: list[tuple[int, ...]] = field(default_factory=list)  # none: not recorded
    kernel_accesses: list[tuple[int, ...]] = field(default_factory=list)  # none: not recorded
    instructions: list[tuple[int, ...]] = field(default_factory=list)  # none: not recorded
    call_paths: list[tuple[Any, ...]] = field(default_factory=list)  # none: not recorded
    path_accesses: list[tuple[int, ...]] = field(default_factory=list)
    placed_by_first_touch: bool = False
    access_ns: float = 2.0  # of CPU time, for each access

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
        """Say how often a line of 64 bytes went between two threads; each uses 8 bytes of it.

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

    def call(self, function: str, line: int, caller: int = -1) -> int:
        """Add a function that `caller` calls, at the line where it calls or accesses."""
        path = len(self.call_paths)
        file = f"{self.program}.c"
        self.call_paths.append((path, caller, function, file, line, self.program))
        return path

    def unknown_callers(self) -> int:
        """Add the row that stands for them."""
        path = len(self.call_paths)
        self.call_paths.append((path, -1, "", "", 0, ""))
        return path

    def sample(
        self, structure: int, page: int, thread: int, path: int, reads: int, *, phase: int = 0
    ) -> None:
        """Say that samples saw the thread read the page, in the call `path`."""
        self.path_accesses.append((structure, 0, page, thread, phase, path, reads, 0))

    def touched_in(self, path: int, structure: int = -1) -> None:
        """Say that the call `path` made the first touches of the structure; -1: of all."""
        chosen = pl.lit(structure < 0) | (pl.col("structure") == structure)
        for number, frame in enumerate(self.first_touch):
            before = pl.col("path") if "path" in frame.columns else pl.lit(path)
            called = pl.when(chosen).then(path).otherwise(before).cast(pl.UInt32)
            self.first_touch[number] = frame.with_columns(path=called)

    def fill_by_kernel(
        self, structure: int, pages: Iterable[int], thread: int, bytes_: int, phase: int = 0
    ) -> None:
        """Say that system calls for the thread wrote these bytes of each page."""
        for page in pages:
            self.kernel_accesses.append((structure, 0, page, thread, phase, 0, bytes_))

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
        """Add accesses; the arrays are broadcast against each other, and rows of zeros left out."""
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
            for name, rows in (
                ("transfers", self.transfers),
                ("seen_lines", self.seen_lines),
                ("kernel_accesses", self.kernel_accesses),
                ("instructions", self.instructions),
                ("call_paths", self.call_paths),
                ("path_accesses", self.path_accesses),
            )
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

    def _times(self, accesses: int) -> dict[str, Any]:
        native = self.access_ns * accesses * 1e-9
        return {"wall_s": 2.1, "cpu_s": 2.5 * native, "native_cpu_s": native}

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
            "times": self._times(int(accesses["reads"].sum()) + int(accesses["writes"].sum())),
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
