# SPDX-License-Identifier: Apache-2.0
"""Synthetic jobs: each rank works on its own field, and all share a window."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from numascape.trace.info import JobPart
from numascape.trace.job import part_folder
from numascape.trace.write_part import write_part
from synthetic.pattern import DOUBLES, Pattern
from synthetic.write import info_of

WINDOW = "/dev/shm/window.turing.77"


class RankPattern(Pattern):
    """A pattern whose mappings are shared files."""

    def tables(self) -> dict[str, pl.DataFrame]:
        tables = super().tables()
        mapped = pl.col("kind") == "mapping"
        tables["structures"] = tables["structures"].with_columns(
            shared=mapped, module=pl.when(mapped).then(pl.lit(WINDOW)).otherwise("module")
        )
        return tables


def rank_pattern(
    rank: int,
    size: int,
    *,
    threads: int = 4,
    fields: int = 2,
    pages: int = 64,
    work: float = 1.0,
    serial_window: bool = True,
    parallel: bool = True,
) -> Pattern:
    """A rank with `fields` arrays that its threads divide, and a window that all ranks divide.

    Rank 0 touches the whole window first if `serial_window`. Thread 0 touches the fields first
    unless `parallel`.
    """
    pattern = RankPattern("solver", threads)
    thread, page = np.arange(threads)[:, None], np.arange(pages)[None, :]
    owner = page * threads // pages
    for number in range(fields):
        field = pattern.structure(f"field{number}", pages)
        reads = np.rint((owner == thread) * DOUBLES * 6 * work).astype(np.int64)
        pattern.access(field, page, thread, reads, (owner == thread) * DOUBLES * 2)
        pattern.touch(field, page, owner if parallel else 0)
    window = pattern.structure(
        WINDOW.rpartition("/")[2], 16 * size, kind="mapping", function="", file="", line=0
    )
    mine = np.arange(16 * rank, 16 * (rank + 1))
    pattern.access(window, mine, 0, round(DOUBLES * 6 * work), DOUBLES * 2)
    pattern.touch(
        window, np.arange(16 * size) if serial_window and rank == 0 else mine, 0, "fill", 30
    )
    return pattern


def write_rank(
    folder: Path, rank: int, size: int, pattern: Pattern, *, run: str = "a", **changes: object
) -> Path:
    """Write the part of a rank; `changes` are fields of trace.json."""
    information = {**pattern.info(), **changes}
    info = info_of(information)
    # Rank 0 begins first, so it touches the shared memory first.
    part = JobPart(run, rank, size, "Open MPI", "", (rank % 64,), 10**18 + rank * 10**9)
    write_part(folder, part, pattern.tables(), info)
    return part_folder(folder, rank)


def write_job(folder: Path, size: int, **options: object) -> Path:
    """Write a job of equal ranks."""
    for rank in range(size):
        write_rank(folder, rank, size, rank_pattern(rank, size, **options))  # type: ignore[arg-type]
    return folder
