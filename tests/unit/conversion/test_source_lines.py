# SPDX-License-Identifier: Apache-2.0
"""Counts of instructions and samples of their pages become counts of lines and structures."""

import dataclasses
from collections.abc import Sequence

import polars as pl
import pytest

from numascape.conversion.source_lines import Samples, Sites, count_lines, joined_lines, merged
from numascape.trace.schema import SCHEMAS

PLACES = {10: ("f", "a.c", 1), 11: ("f", "a.c", 2), 20: ("g", "b.c", 7)}
OF_PLACES = {"function": pl.String(), "file": pl.String(), "line": pl.UInt32()}
OF_SAMPLES = {
    "site": pl.UInt32(),
    "phase": pl.UInt32(),
    "owner": pl.UInt32(),
    "weight": pl.Float64(),
    "whole": pl.Float64(),
}
OF_SHARED = {
    "site": pl.UInt32(),
    "phase": pl.UInt32(),
    "group": pl.UInt32(),
    "weight": pl.Float64(),
}
OF_SHARES = {"group": pl.UInt32(), "owner": pl.UInt32(), "share": pl.Float64()}


def places(pcs: pl.Series) -> tuple[pl.Series, pl.DataFrame]:
    numbers = pl.Series([list(PLACES).index(pc) for pc in pcs], dtype=pl.UInt32)
    return numbers, pl.DataFrame(list(PLACES.values()), schema=OF_PLACES, orient="row")


def sites(
    counts: Sequence[tuple[int, ...]],
    samples: Sequence[tuple[float, ...]],
    shared: Sequence[tuple[float, ...]] = (),
    shares: Sequence[tuple[float, ...]] = (),
    *,
    in_pieces: bool = False,
) -> Sites:
    """Columns of Sites.counts and Samples.owned; a missing last column is 0.

    Owner n has structure n. With `in_pieces`, the samples are in two parts of a table.
    """
    u32, u64 = pl.UInt32, pl.UInt64
    of_counts = {"site": u32, "phase": u32, "pc": u64, "reads": u64, "writes": u64}
    rows = [(*row, 0.0)[:5] for row in samples]
    owned = pl.DataFrame(rows, schema=OF_SAMPLES, orient="row")
    if in_pieces:
        owned = pl.concat([owned[:1], owned[1:]], rechunk=False)
        assert owned.n_chunks() == 2
    counted = pl.DataFrame(
        [(*row, 0)[:6] for row in counts], schema={**of_counts, "executions": u64}, orient="row"
    )
    return Sites(
        counted,
        places(counted["pc"]),
        Samples(
            owned.rename({"owner": "structure"}).clear(),
            owned,
            pl.DataFrame(shared, schema=OF_SHARED, orient="row"),
            pl.DataFrame(shares, schema=OF_SHARES, orient="row"),
            pl.Series(range(10), dtype=u32),
        ).by_structure(),
    )


def accesses(rows: list[tuple[int, int, int, int]]) -> pl.DataFrame:
    names = ("structure", "phase", "reads", "writes")
    return pl.DataFrame(rows, orient="row", schema={n: SCHEMAS["accesses"][n] for n in names})


def test_a_site_of_one_structure_keeps_its_counts() -> None:
    known = sites([(1, 0, 10, 70, 0), (1, 0, 11, 0, 30)], [(1, 0, 5, 2.0)])
    lines = count_lines(known, accesses([(5, 0, 70, 30)]))
    assert lines.rows() == [(5, 0, "f", "a.c", 1, 70, 0, 0), (5, 0, "f", "a.c", 2, 0, 30, 0)]


def test_tables_in_several_pieces_give_the_same_lines() -> None:
    counts = [(1, 0, 10, 70, 0), (1, 0, 11, 0, 30)]
    samples = [(1, 0, 5, 2.0), (1, 0, 6, 1.0)]
    wanted = accesses([(5, 0, 50, 20), (6, 0, 20, 10)])
    apart = sites(counts, samples, in_pieces=True)
    in_pieces = count_lines(apart, pl.concat([wanted[:1], wanted[1:]], rechunk=False))
    assert in_pieces.equals(count_lines(sites(counts, samples), wanted))


def test_samples_are_counted_once() -> None:
    known = sites([(1, 0, 10, 70, 0)], [(1, 0, 5, 2.0)])
    count_lines(known, accesses([(5, 0, 70, 0)]))
    with pytest.raises(ValueError, match="these samples were counted before"):
        count_lines(known, accesses([(5, 0, 70, 0)]))


def test_a_table_without_a_needed_column_is_refused() -> None:
    known = sites([(1, 0, 10, 70, 0)], [(1, 0, 5, 2.0)])
    narrow = known.counts.with_columns(pl.col("reads").cast(pl.UInt32))
    broken = dataclasses.replace(known, counts=narrow)
    with pytest.raises(ValueError, match="no column reads of the expected type"):
        count_lines(broken, accesses([(5, 0, 70, 0)]))


def test_a_site_of_two_structures_is_fitted_to_their_counts() -> None:
    known = sites([(1, 0, 10, 100, 0)], [(1, 0, 5, 1.0), (1, 0, 6, 1.0)])
    lines = count_lines(known, accesses([(5, 0, 75, 0), (6, 0, 25, 0)]))
    assert lines.select("structure", "reads", "estimated").rows() == [(5, 75, 75), (6, 25, 25)]


def test_samples_of_shared_pages_are_divided_as_their_owners_share_them() -> None:
    counts = [(1, 0, 10, 80, 0), (2, 0, 20, 20, 0)]
    known = sites(
        counts, [(2, 0, 5, 1.0)], shared=[(1, 0, 0, 4.0)], shares=[(0, 5, 0.75), (0, 6, 0.25)]
    )
    lines = count_lines(known, accesses([(5, 0, 80, 0), (6, 0, 20, 0)]))
    assert lines.select("structure", "line", "reads").rows() == [(5, 1, 60), (5, 7, 20), (6, 1, 20)]


def test_what_was_followed_is_exact_whatever_else_uses_the_structures() -> None:
    known = sites(
        [(1, 0, 10, 40, 0, 20), (1, 0, 11, 0, 20, 20), (2, 0, 20, 50, 0, 50)],
        [(1, 0, 5, 15.0, 15.0), (1, 0, 6, 5.0, 5.0), (2, 0, 5, 1.0), (2, 0, 6, 1.0)],
    )
    wanted = accesses([(5, 0, 60, 15), (6, 0, 30, 5)])
    lines = count_lines(known, wanted)
    assert lines.rows() == [
        (5, 0, "f", "a.c", 1, 30, 0, 0),
        (5, 0, "f", "a.c", 2, 0, 15, 0),
        (5, 0, "g", "b.c", 7, 30, 0, 30),
        (6, 0, "f", "a.c", 1, 10, 0, 0),
        (6, 0, "f", "a.c", 2, 0, 5, 0),
        (6, 0, "g", "b.c", 7, 20, 0, 20),
    ]


def test_followed_accesses_that_a_structure_does_not_have_are_estimates() -> None:
    known = sites([(1, 0, 10, 20, 0, 20)], [(1, 0, 5, 20.0, 20.0)])
    lines = count_lines(known, accesses([(5, 0, 18, 0)]))
    assert lines.rows() == [(5, 0, "f", "a.c", 1, 18, 0, 18)]


def test_counts_that_add_up_prove_that_samples_missed_nothing() -> None:
    counts = [(1, 0, 10, 70, 0), (2, 0, 20, 30, 0)]
    for total, estimated in [(100, 0), (101, 101)]:
        known = sites(counts, [(1, 0, 5, 1.0), (2, 0, 5, 1.0)])
        lines = count_lines(known, accesses([(5, 0, total, 0)]))
        assert lines["reads"].sum() == total
        assert lines["estimated"].sum() == estimated


def test_in_each_phase_the_proof_is_its_own() -> None:
    known = sites([(1, 0, 10, 70, 0), (1, 1, 10, 30, 0)], [(1, 0, 5, 1.0), (1, 1, 5, 1.0)])
    lines = count_lines(known, accesses([(5, 0, 70, 0), (5, 1, 29, 0)]))
    assert lines.select("phase", "reads", "estimated").rows() == [(0, 70, 0), (1, 29, 29)]


def test_of_two_sites_the_more_certain_keeps_its_shares() -> None:
    known = sites(
        [(1, 0, 10, 1_000_000, 0), (2, 0, 20, 1000, 0)],
        [(1, 0, 5, 0.45), (1, 0, 6, 0.55), (2, 0, 5, 0.5), (2, 0, 6, 0.5)],
    )
    wanted = accesses([(5, 0, 500_500, 0), (6, 0, 500_500, 0)])
    lines = count_lines(known, wanted)
    small = lines.filter(pl.col("file") == "b.c")["reads"].to_list()
    assert all(abs(reads - 500) < 2 for reads in small)
    assert lines.group_by("structure").agg(pl.col("reads").sum()).sort("structure").rows() == [
        (5, 500_500),
        (6, 500_500),
    ]


def test_what_no_site_explains_is_of_no_line() -> None:
    known = sites([(1, 0, 10, 60, 0)], [(1, 0, 5, 1.0)])
    lines = count_lines(known, accesses([(5, 0, 100, 9), (6, 0, 4, 0)]))
    assert lines.rows() == [
        (5, 0, "", "", 0, 40, 9, 49),
        (5, 0, "f", "a.c", 1, 60, 0, 60),
        (6, 0, "", "", 0, 4, 0, 4),
    ]


def test_a_phase_without_samples_takes_those_of_another() -> None:
    known = sites([(1, 0, 10, 8, 0), (1, 1, 10, 2, 0)], [(1, 0, 5, 1.0)])
    lines = count_lines(known, accesses([(5, 0, 8, 0), (5, 1, 2, 0)]))
    assert lines.select("phase", "line", "reads").rows() == [(0, 1, 8), (1, 1, 2)]


def test_more_than_a_structure_counted_is_cut_down() -> None:
    known = sites([(1, 0, 10, 30, 0), (2, 0, 20, 10, 0)], [(1, 0, 5, 1.0), (2, 0, 5, 1.0)])
    lines = count_lines(known, accesses([(5, 0, 20, 0)]))
    assert lines["reads"].to_list() == [15, 5]


def test_without_sites_there_is_no_line() -> None:
    assert count_lines(sites([], []), accesses([(5, 0, 1, 1)])).is_empty()


def test_processes_are_put_together() -> None:
    known = sites([(1, 0, 10, 70, 0)], [(1, 0, 5, 2.0)])
    lines = count_lines(known, accesses([(5, 0, 70, 0)]))
    assert merged([lines, lines]).rows() == [(5, 0, "f", "a.c", 1, 140, 0, 0)]


def test_lines_of_processes_stay_in_order() -> None:
    known = sites([(1, 0, 20, 70, 0), (1, 0, 10, 5, 0)], [(1, 0, 5, 2.0)])
    lines = count_lines(known, accesses([(5, 0, 75, 0)]))
    other = lines.with_columns(structure=pl.lit(3, dtype=pl.UInt32))
    assert joined_lines([lines, other]).equals(merged([lines, other]))
