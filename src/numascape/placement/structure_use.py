# SPDX-License-Identifier: Apache-2.0
"""Computes which threads use which parts of the structures that a plan can place.

Use is counted in lines from memory, like in predictions; cache hits do not count.

A part is one of up to `PARTS` equal fractions of a structure. All its instances are folded onto the
same fractions, because a plan's rules apply to instances of any size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from numascape.analysis.sharing import PAGE
from numascape.balance.graph import Floats, Integers
from numascape.naming.frames import is_library_module
from numascape.naming.runtime_objects import RUNTIME_NAMES
from numascape.plan.plan import LONGEST_TEXT
from numascape.prediction.demand import Demand
from numascape.trace import Trace

PARTS: Final = 2048
"""A boundary is at most 1 / 4096 of a structure away from its best place."""
MIN_SHARE: Final = 0.001
"""Share of all lines from memory, or of all bytes, below which a structure gets no rule."""

ALONE: Final = 0.05
"""Share of the busiest thread's accesses in a phase below which a thread does not work in it."""

_ACCESSES: Final = pl.col("reads") + pl.col("writes")


@dataclass(frozen=True, eq=False)
class StructureUse:
    """A structure's use and bytes, by parts.

    `part`, `thread`, `serial` and `lines` are the columns of a table: thread `thread` fetches
    `lines` lines of part `part` from memory; `serial` is 1 for phases in which one thread works
    alone, else 0. `toucher`, `user`, `touched_serial` and `touched_lines` are columns of a second
    table: `user` fetches `touched_lines` lines of pages that `toucher` touched first.
    `touched_bytes` is by toucher. `bytes` is by part: the touched memory, of the instances that
    live at the same time. Part k begins at the fraction `posts[k]` of an instance's bytes.
    """

    structure: int
    bytes: Floats
    part: Integers
    thread: Integers
    serial: Integers
    lines: Floats
    toucher: Integers
    user: Integers
    touched_serial: Integers
    touched_lines: Floats
    touched_bytes: Floats
    posts: Floats

    @property
    def parts(self) -> int:
        """The number of parts."""
        return len(self.bytes)


def program_threads(trace: Trace) -> Integers:
    """The threads of the process with most accesses, in order of creation."""
    process = trace.threads["process"].to_numpy()
    made = trace.accesses.group_by("thread").agg(_ACCESSES.sum().alias("made"))
    totals = np.zeros(int(process.max()) + 1)
    np.add.at(totals, process[made["thread"].to_numpy()], made["made"].to_numpy())
    return np.flatnonzero(process == totals.argmax())


def working_accesses(demand: Demand) -> Floats:
    """Each thread's accesses in phases in which several threads work, or else in all phases."""
    together = ~_one_works(demand)
    accesses: Floats = demand.accesses[together if together.any() else slice(None)].sum(axis=0)
    return accesses


def _one_works(demand: Demand) -> npt.NDArray[np.bool_]:
    """Whether one thread makes nearly all accesses, for each phase."""
    most = demand.accesses.max(axis=1, keepdims=True)
    working: Integers = (demand.accesses > ALONE * most).sum(axis=1)
    return working < 2


def page_uses(trace: Trace, demand: Demand) -> pl.DataFrame:
    """A row per page, thread and `serial`: the lines, and the first toucher of the page.

    `serial` is 1 in phases in which one thread works alone.
    """
    rows = pl.LazyFrame(
        {
            "row": demand.page,
            "thread": demand.thread,
            "serial": _one_works(demand).astype(np.int64)[demand.phase],
            "lines": demand.lines,
        }
    )
    touched = trace.first_touch.lazy().select(*PAGE, toucher=pl.col("thread").cast(pl.Int64))
    return (
        rows.group_by("row", "thread", "serial")
        .agg(pl.col("lines").sum())
        .join(demand.pages.lazy(), on="row")
        .join(touched, on=PAGE, how="left")
        .with_columns(toucher=pl.coalesce("toucher", "thread"))
        .collect()
    )


def evenly_working(pages: pl.DataFrame) -> float:
    """The number of threads that would do the work if each did as much as the busiest one."""
    together = pages.filter(pl.col("serial") == 0).group_by("thread").agg(pl.col("lines").sum())
    lines = together["lines"].to_numpy()
    return float(lines.sum() / lines.max()) if len(lines) and lines.max() > 0 else 1.0


def placeable(trace: Trace, pages: pl.DataFrame, process: int) -> pl.DataFrame:
    """The rows of `structures` that a plan can name and that are relevant, with their `lines`.

    These are variables, heap blocks of at least a page, and anonymous mappings of the program or
    its own libraries. Other memory is left out: stacks follow their threads, small blocks share
    pages with others, constants are in the page cache, and runtime libraries place their own
    memory. `pages` is the result of page_uses.
    """
    every = float(pages["lines"].to_numpy().sum())
    written = trace.accesses.group_by("structure").agg(pl.col("writes").sum())
    used = pages.group_by("structure").agg(
        pl.col("lines").sum(), pl.struct("instance", "page").n_unique().alias("touched")
    )
    frame = trace.structures.join(used, on="structure").join(written, on="structure")
    name = pl.col("name")
    frame = frame.filter(
        (pl.col("process") == process)
        & pl.col("named")
        & ~name.is_in(list(RUNTIME_NAMES))
        & pl.col("kind").is_in(["global", "heap", "mapping"])
        # A mapping without an allocating function is named after its file.
        & ((pl.col("kind") != "mapping") | (pl.col("function") != ""))
        & ((pl.col("kind") != "global") | ((pl.col("writes") > 0) & (pl.col("file") != "")))
    )
    touched = int(frame["touched"].to_numpy().sum())
    chosen = frame.filter(
        (pl.col("lines") >= MIN_SHARE * every) | (pl.col("touched") >= MIN_SHARE * touched)
    )
    chosen = chosen.sort("lines", "structure", descending=[True, False])
    kept = [_can_be_named(row) for row in chosen.iter_rows(named=True)]
    return chosen.filter(pl.Series(kept, dtype=pl.Boolean()))


def _can_be_named(row: dict[str, Any]) -> bool:
    """Whether a plan's document may contain the names, and the structure is not the system's."""
    texts = [row[column] for column in ("name", "function", "file")]
    return all(text.isprintable() and len(text) <= LONGEST_TEXT for text in texts) and not (
        is_library_module(row["module"].rpartition("/")[2])
    )


def structure_uses(
    trace: Trace, pages: pl.DataFrame, structures: pl.DataFrame
) -> list[StructureUse]:
    """The use of each of `structures`, which are rows of `placeable`, in order."""
    chosen = structures.select("structure", most="pages").with_columns(
        parts=pl.col("most").clip(1, PARTS)
    )
    folded = (
        pages.lazy()
        .join(chosen.lazy(), on="structure")
        .join(_instance_pages(trace).lazy(), on=["structure", "instance"], how="left")
        .with_columns(extent=pl.coalesce("extent", "most").clip(1))
        .with_columns(
            part=((pl.col("page") + 0.5) * pl.col("parts") / pl.col("extent"))
            .cast(pl.Int64)
            .clip(0, pl.col("parts").cast(pl.Int64) - 1)
        )
        .collect()
    )
    largest = {
        int(row["structure"]): row
        for row in trace.instances.sort("size", "instance").iter_rows(named=True)
    }
    live = _live_shares(trace, chosen)
    groups = {int(key[0]): group for key, group in folded.group_by("structure")}
    size = trace.info.page_size
    found = []
    for row in chosen.iter_rows(named=True):
        number = int(row["structure"])
        posts = _posts(row["parts"], row["most"] * size, largest.get(number), size)
        bytes_each = size * live.get(number, 1.0)
        found.append(_use(groups[number], number, posts, bytes_each, trace.threads.height))
    return found


def remaining_use(trace: Trace, pages: pl.DataFrame, structures: pl.DataFrame) -> StructureUse:
    """The use of all memory outside `structures`, as if it were one structure with one part."""
    rest = pages.join(structures, on="structure", how="anti")
    rest = rest.with_columns(part=pl.lit(0, pl.Int64))
    return _use(rest, -1, np.zeros(1), float(trace.info.page_size), trace.threads.height)


def _posts(parts: int, span: int, largest: dict[str, Any] | None, page_size: int) -> Floats:
    """The start of each part, as a fraction of an instance's bytes.

    Pages count from the page with the first byte, so a block may cover only a part of its first
    page. `span` is the bytes of all pages of the largest instance.
    """
    begin = np.arange(parts) / parts * span
    if largest is None:
        return begin / span
    begin = np.maximum(begin - largest["address"] % page_size, 0.0)
    fractions: Floats = begin / max(largest["size"], 1)
    return fractions


def _use(
    rows: pl.DataFrame, structure: int, posts: Floats, page_bytes: float, threads: int
) -> StructureUse:
    by_part = rows.group_by("part", "thread", "serial").agg(pl.col("lines").sum())
    by_part = by_part.sort("serial", "part", "thread")
    by_toucher = rows.group_by("toucher", "thread", "serial").agg(pl.col("lines").sum())
    by_toucher = by_toucher.sort("toucher", "thread", "serial")
    single = rows.unique(PAGE)
    held = np.bincount(single["part"].to_numpy(), minlength=len(posts))
    touched = np.bincount(single["toucher"].to_numpy(), minlength=threads)
    return StructureUse(
        structure,
        held.astype(np.float64) * page_bytes,
        by_part["part"].to_numpy(),
        by_part["thread"].to_numpy(),
        by_part["serial"].to_numpy(),
        by_part["lines"].to_numpy(),
        by_toucher["toucher"].to_numpy(),
        by_toucher["thread"].to_numpy(),
        by_toucher["serial"].to_numpy(),
        by_toucher["lines"].to_numpy(),
        touched.astype(np.float64) * page_bytes,
        posts,
    )


def _instance_pages(trace: Trace) -> pl.DataFrame:
    """The number of pages of each instance with a known address."""
    size = trace.info.page_size
    extent = (pl.col("address") % size + pl.col("size") + size - 1) // size
    return trace.instances.select("structure", "instance", extent=extent.cast(pl.UInt32))


def _live_shares(trace: Trace, structures: pl.DataFrame) -> dict[int, float]:
    """By structure: the bytes of addresses that its instances cover, divided by their total size.

    Blocks that are freed and allocated again cover the same addresses.
    """
    known = trace.instances.join(structures, on="structure", how="semi").filter(pl.col("size") > 0)
    shares = {}
    for key, group in known.sort("address").group_by("structure"):
        start = group["address"].to_numpy().astype(np.float64)
        end = start + group["size"].to_numpy()
        before = np.concatenate([[start[0]], np.maximum.accumulate(end)[:-1]])
        covered = np.maximum(end - np.maximum(start, before), 0.0).sum()
        shares[int(key[0])] = float(covered / (end - start).sum())
    return shares
