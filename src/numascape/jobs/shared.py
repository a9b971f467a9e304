# SPDX-License-Identifier: Apache-2.0
"""Memory that ranks of one host share: who touched it first, and who uses it.

The kernel places a page of a shared file once, on the node of the rank that touches it first. In
the part of each rank, the page has a first touch by this rank. The earliest one by the host's clock
counts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

from numascape.findings.finding import Place
from numascape.findings.thresholds import (
    DEFAULT_CACHE_BYTES,
    MIN_DOMINANT_SHARE,
    MIN_FOREIGN_SHARE,
    MIN_SERIAL_SHARE,
    MIN_STRUCTURE_SHARE,
)
from numascape.jobs.tables import JobTables
from numascape.quantities import percent, ranges_text
from numascape.trace.format import PAGE_BYTES

SHARED_KIND = "first touch by one rank"
"""The kind of the finding about memory that ranks share."""
# Files through which MPI libraries exchange messages; the program cannot place them.
_MESSAGES = re.compile(r"(vader_segment|sm_segment|shared_mem|psm2_shm|ucx_)|.*pmix")


@dataclass(frozen=True)
class SharedMemory:
    """Shared memory of a host. `first_rank` touched `first_share` of its pages first, at `place`.

    `foreign_share` is the part of its accesses by ranks that did not touch the page first,
    `dominance` the part by the busiest rank of each page.
    """

    host: str
    memory: str
    bytes: int
    ranks: tuple[int, ...]
    accesses: int
    first_rank: int
    first_share: float
    foreign_share: float
    dominance: float
    place: Place
    elsewhere: tuple[int, ...]
    """Ranks whose CPUs are on other nodes than those of `first_rank`; empty if not bound."""

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.memory.rpartition("/")[2]

    @property
    def serial(self) -> bool:
        """Whether one rank touched it first, and mainly others use it."""
        return (
            self.first_share >= MIN_SERIAL_SHARE
            # With two ranks, the one that filled everything does half of the work itself.
            and self.foreign_share >= MIN_FOREIGN_SHARE / 2
            and self.bytes > DEFAULT_CACHE_BYTES
        )

    @property
    def why(self) -> str:
        """Sentences about the rank that touched it first, and the ranks that use it."""
        others = [rank for rank in self.ranks if rank != self.first_rank]
        at = f", in {self.place}" if str(self.place) else ""
        nodes = (
            f" {ranges_text(self.elsewhere, 'rank').capitalize()} "
            f"{'run' if len(self.elsewhere) > 1 else 'runs'} on other nodes."
            if self.elsewhere
            else ""
        )
        return (
            f"Rank {self.first_rank} touched {percent(self.first_share)} of its pages first{at}, "
            f"so they are on the node of this rank. {ranges_text(others, 'rank').capitalize()} "
            f"{'use' if len(others) > 1 else 'uses'} them, too: {percent(self.foreign_share)} of "
            f"the accesses are to pages that another rank touched first.{nodes}"
        )

    @property
    def advice(self) -> tuple[str, ...]:
        """Sentences about what to do."""
        if self.dominance >= MIN_DOMINANT_SHARE:
            return (
                "Let each rank fill the part that it uses: its own segment of "
                "MPI_Win_allocate_shared, before any other rank writes to it.",
                "Bind the ranks, for example with `mpirun --bind-to core`.",
            )
        return (
            "All ranks use all of it: interleave it, for example with `numactl --interleave=all`, "
            "or give each node a copy if it is only read.",
        )


def shared_memory(tables: JobTables) -> list[SharedMemory]:
    """The memory that several ranks of a host use, the most used first, without that of MPI."""
    total = int(tables.sums["reads"].sum()) + int(tables.sums["writes"].sum())
    nodes = {rank: frozenset(some) for rank, some in tables.ranks.select("rank", "nodes").rows()}
    found = []
    # A file may have several paths, and a path may be of several files one after the other.
    identity = pl.when(pl.col("object") == "").then("memory").otherwise("object")
    rows_of = tables.shared.with_columns(identity=identity).partition_by(
        "host", "identity", as_dict=True
    )
    for (host, _), rows in sorted(rows_of.items()):
        memory = rows["memory"].min()
        if _MESSAGES.match(str(memory).rpartition("/")[2]):
            continue
        one = _examine(str(host), str(memory), rows, nodes)
        if one is not None and one.accesses >= MIN_STRUCTURE_SHARE * total:
            found.append(one)
    return sorted(found, key=lambda one: (-one.accesses, one.host, one.memory))


def _examine(
    host: str, memory: str, rows: pl.DataFrame, nodes: dict[int, frozenset[int]]
) -> SharedMemory | None:
    """The shared memory of these rows; None if only one rank uses it."""
    # Ranks may map parts of different sizes: the coarsest division serves for all.
    block = int(rows["pages"].max())  # type: ignore[arg-type]
    rows = (
        rows.with_columns(
            pl.col("first_page") // block, accesses=pl.col("reads") + pl.col("writes")
        )
        .sort("touched_ns", "rank")
        .group_by("first_page", "rank", maintain_order=True)
        .agg(
            pl.col("accesses").sum(),
            *(
                pl.col(name).filter(pl.col("touched_ns") > 0).first()
                for name in ("touched_ns", "function", "file", "line")
            ),
        )
    )
    by_rank = rows.group_by("rank").agg(pl.col("accesses").sum()).filter(pl.col("accesses") > 0)
    touched = (
        rows.filter(pl.col("touched_ns").is_not_null())
        .sort("touched_ns", "rank")
        .unique("first_page", keep="first", maintain_order=True)
    )
    if by_rank.height < 2 or touched.is_empty():
        return None
    counts = touched.group_by("rank").len().sort("len", "rank", descending=[True, False])
    first, pages = counts.row(0)
    owners = touched.select("first_page", owner="rank")
    owned = rows.join(owners, on="first_page")
    accesses = int(owned["accesses"].sum())
    foreign = int(owned.filter(pl.col("rank") != pl.col("owner"))["accesses"].sum())
    busiest = int(owned.group_by("first_page").agg(pl.col("accesses").max())["accesses"].sum())
    places = (
        touched.filter(pl.col("rank") == first)
        .group_by("function", "file", "line")
        .len()
        .sort("len", "function", "file", "line", descending=[True, False, False, False])
    )
    function, file, line, _ = places.row(0)
    ranks = tuple(sorted(by_rank["rank"]))
    bound = all(len(nodes.get(rank, frozenset())) == 1 for rank in ranks)
    return SharedMemory(
        host=host,
        memory=memory,
        bytes=touched.height * block * PAGE_BYTES,
        ranks=ranks,
        accesses=accesses,
        first_rank=first,
        first_share=pages / touched.height,
        foreign_share=foreign / max(1, accesses),
        dominance=busiest / max(1, accesses),
        place=Place(function, file, line),
        elsewhere=tuple(rank for rank in ranks if bound and nodes[rank] != nodes[first]),
    )
