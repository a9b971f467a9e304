# SPDX-License-Identifier: Apache-2.0
"""Classes of ranks: ranks that do the same to each structure.

Each rank is compared with the first rank of each class, in the order of ranks, and joins the class
that differs least, or begins a new one. The result therefore does not depend on the order in which
parts were analysed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from numascape.analysis.ownership import Owner
from numascape.jobs.tables import JobTables
from numascape.quantities import percent

MAX_SHARE_DIFFERENCE = 0.1
"""Ranks whose shares of a structure differ by more are not alike. Halo exchange and other code that
depends on the neighbours of a rank changes shares by less (halo, 4 ranks of 128 rows: 0.02)."""
MIN_COMPARED_SHARE = 0.05
"""If a structure has a lower share, the way in which ranks use it is not compared. So few accesses
decide little, and ranks may differ in them by chance."""
MAX_USE_DIFFERENCE = 0.25
"""The largest difference of two similar ranks in the use of a structure: in the share of its
busiest thread, and in its foreign share. Schedules that vary from rank to rank cause less."""
MAX_WORK_RATIO = 1.5
"""A rank with this many times the accesses of another rank does other work."""
OUTLIER_RATIO = 3
"""A class with at most 1/3 of the ranks of the largest one consists of outliers."""

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RankClass:
    """Ranks that are alike, ascending; the representative is the one nearest to their mean.

    `reason` says how outliers differ from the largest class. It is empty for other classes.
    """

    ranks: tuple[int, ...]
    representative: int
    reason: str = ""


@dataclass(frozen=True)
class _Vectors:
    """The use of each of S structures by each of R ranks: R x S arrays, and accesses of R ranks."""

    ranks: list[int]
    names: list[str]
    share: Floats
    busiest: Floats
    foreign: Floats
    pattern: Integers
    patterns: list[str]
    accesses: Floats

    def differences(self, one: int, others: Integers) -> Floats:
        """The difference of a rank from O others, O x (S + 1). Above 1, ranks are not alike.

        The last column is the number of accesses.
        """
        share = np.abs(self.share[one] - self.share[others]) / MAX_SHARE_DIFFERENCE
        compared = np.minimum(self.share[one], self.share[others]) >= MIN_COMPARED_SHARE
        use = np.maximum(
            np.abs(self.busiest[one] - self.busiest[others]),
            np.abs(self.foreign[one] - self.foreign[others]),
        )
        pattern = 2.0 * (self.pattern[one] != self.pattern[others])
        use = np.where(compared, np.maximum(use / MAX_USE_DIFFERENCE, pattern), 0.0)
        ratio = np.abs(np.log(self.accesses[one] / self.accesses[others])) / np.log(MAX_WORK_RATIO)
        return np.hstack([np.maximum(share, use), ratio[:, None]])


def program_sums(sums: pl.DataFrame) -> pl.DataFrame:
    """The sums of the memory that the program decides on, with shares of the accesses to it.

    A rank that waits for messages makes many accesses to the memory of MPI and to stacks, and their
    number differs from run to run.
    """
    accesses = (pl.col("reads") + pl.col("writes")).cast(pl.Float64)
    return sums.filter(pl.col("owner") == Owner.PROGRAM.value).with_columns(
        label=structure_label(), share=accesses / accesses.sum().over("rank")
    )


def structure_label() -> pl.Expr:
    """The same text for the same structure of any rank.

    A file that is made for sharing is often named after the run and the rank that made it
    (osc_sm.host.1e8f0001.0.4): its numbers do not count.
    """
    without_numbers = pl.col("name").str.replace_all("[0-9a-f]*[0-9][0-9a-f]*", "*")
    return pl.when(pl.col("shared") != "").then(without_numbers).otherwise(pl.col("name"))


def classes_of(tables: JobTables) -> list[RankClass]:
    """The classes of ranks, largest first; outliers last."""
    vectors = _vectors(tables)
    leaders: list[int] = []
    members: list[list[int]] = []
    for one in range(len(vectors.ranks)):
        worst = vectors.differences(one, np.array(leaders, dtype=np.int64)).max(axis=1, initial=0)
        nearest = int(worst.argmin()) if leaders else -1
        if leaders and worst[nearest] <= 1:
            members[nearest].append(one)
        else:
            leaders.append(one)
            members.append([one])
    members.sort(key=lambda some: (-len(some), some[0]))
    made = [_class(vectors, some, members[0]) for some in members]
    return sorted(made, key=lambda one: (bool(one.reason), -len(one.ranks), one.ranks))


def _class(vectors: _Vectors, members: Sequence[int], largest: Sequence[int]) -> RankClass:
    some = np.array(members, dtype=np.int64)
    mean = vectors.share[some].mean(axis=0)
    work = np.abs(np.log(vectors.accesses[some] / np.median(vectors.accesses[some])))
    distance = np.abs(vectors.share[some] - mean).sum(axis=1) + work
    centre = int(some[int(distance.argmin())])
    reason = ""
    if OUTLIER_RATIO * len(members) <= len(largest):
        reason = _reason(vectors, centre, _centre(vectors, largest))
    ranks = tuple(vectors.ranks[one] for one in members)
    return RankClass(ranks, vectors.ranks[centre], reason)


def _centre(vectors: _Vectors, members: Sequence[int]) -> int:
    """The member with the median of accesses."""
    some = np.array(members, dtype=np.int64)
    return int(some[np.argsort(vectors.accesses[some], kind="stable")[len(some) // 2]])


def _reason(vectors: _Vectors, one: int, usual: int) -> str:
    """The largest difference between a rank and the usual one."""
    difference = vectors.differences(one, np.array([usual]))[0]
    at = int(difference.argmax())
    if at == len(vectors.names):
        ratio = vectors.accesses[one] / vectors.accesses[usual]
        return f"{ratio:.2g} times the accesses of rank {vectors.ranks[usual]}"
    name = vectors.names[at]
    mine, theirs = vectors.share[one, at], vectors.share[usual, at]
    if abs(mine - theirs) / MAX_SHARE_DIFFERENCE >= difference[at]:
        return f"{percent(mine)} of its accesses are to {name}, usually {percent(theirs)}"
    if vectors.pattern[one, at] != vectors.pattern[usual, at]:
        patterns = [vectors.patterns[vectors.pattern[rank, at]] for rank in (one, usual)]
        return f"its threads use {name} in another way: {patterns[0]}, usually {patterns[1]}"
    busiest = vectors.busiest[one, at], vectors.busiest[usual, at]
    foreign = vectors.foreign[one, at], vectors.foreign[usual, at]
    if abs(busiest[0] - busiest[1]) >= abs(foreign[0] - foreign[1]):
        what, (mine, theirs) = "of the accesses to it are by one thread", busiest
    else:
        what, (mine, theirs) = "go to pages that another thread touched first", foreign
    return f"{name}: {percent(mine)} {what}, usually {percent(theirs)}"


def _vectors(tables: JobTables) -> _Vectors:
    ranks = tables.ranks["rank"].to_list()
    total = pl.col("reads") + pl.col("writes")
    # Structures with one name are added up; the largest one decides on the pattern.
    rows = (
        program_sums(tables.sums)
        .with_columns(accesses=total.cast(pl.Float64))
        .sort("rank", "accesses", "structure", descending=[False, True, False])
        .group_by("rank", "label", maintain_order=True)
        .agg(
            pl.col("share").sum(),
            *(
                (pl.col(name) * pl.col("accesses")).sum() / pl.col("accesses").sum()
                for name in ("busiest_share", "foreign_share")
            ),
            pl.col("pattern").first(),
            pl.col("accesses").sum(),
        )
    )
    compared = rows.group_by("label").agg(pl.col("share").max())
    names = sorted(compared.filter(pl.col("share") >= MIN_COMPARED_SHARE)["label"])
    patterns = sorted({"", *rows["pattern"]})
    shape = (len(ranks), len(names))
    share, busiest, foreign = (np.zeros(shape) for _ in range(3))
    pattern = np.zeros(shape, dtype=np.int64)
    row_of = {rank: at for at, rank in enumerate(ranks)}
    column_of = {name: at for at, name in enumerate(names)}
    for rank, label, part, most, other, kind, _ in rows.iter_rows():
        if label in column_of and rank in row_of:
            at = row_of[rank], column_of[label]
            share[at], busiest[at], foreign[at] = part, most, other
            pattern[at] = patterns.index(kind)
    counts = dict(rows.group_by("rank").agg(pl.col("accesses").sum()).iter_rows())
    accesses = np.array([max(1.0, float(counts.get(rank, 0))) for rank in ranks])
    return _Vectors(ranks, names, share, busiest, foreign, pattern, patterns, accesses)
