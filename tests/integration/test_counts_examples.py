# SPDX-License-Identifier: Apache-2.0
"""The examples' traces show the problem in one version and its fix in the other."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

THREADS = 4
FIELDS = ["vx", "vy", "vz", "sxx", "syy", "szz", "sxy", "sxz", "syz", "lambda", "mu", "buoyancy"]


def by_page(recording: Any, structure: str, without_main: bool = False) -> dict[int, pl.DataFrame]:
    """Accesses (reads and writes) of each thread, page by page."""
    rows = recording.rows(structure).with_columns(accesses=pl.col("reads") + pl.col("writes"))
    if without_main:
        rows = rows.filter(pl.col("thread") != 0)
    pages = rows.group_by("page", "thread").agg(pl.col("accesses").sum()).sort("page", "thread")
    return {int(page): part for (page,), part in pages.partition_by("page", as_dict=True).items()}


def main_users(pages: dict[int, pl.DataFrame]) -> dict[int, tuple[int, float]]:
    """The thread with most accesses to each page, and its share of them."""
    users = {}
    for page, part in pages.items():
        first = part.sort("accesses", descending=True).row(0, named=True)
        users[page] = (first["thread"], first["accesses"] / part["accesses"].sum())
    return users


def first_touchers(recording: Any, structure: str) -> dict[int, int]:
    wanted = recording.trace.structures.filter(pl.col("name") == structure)
    rows = recording.trace.first_touch.join(
        wanted.select("structure"), on="structure", how="semi"
    ).select("page", "thread")
    return dict(rows.iter_rows())


@pytest.mark.parametrize("structure", ["B", "C"])
def test_naive_matmul_shares_every_page(record: Any, examples: Path, structure: str) -> None:
    recording = record(examples / "matmul", "-t", THREADS, "naive")
    pages = by_page(recording, structure, without_main=True)
    assert len(pages) >= 512
    for page in range(1, 512):
        assert pages[page]["thread"].to_list() == [1, 2, 3, 4], page
        assert pages[page]["accesses"].n_unique() == 1, page


def test_block_matmul_splits_c_in_halves(record: Any, examples: Path) -> None:
    recording = record(examples / "matmul", "-t", THREADS, "block")
    pages = by_page(recording, "C", without_main=True)
    for page in range(256):
        assert pages[page]["thread"].to_list() == [1, 2], page
    for page in range(257, 512):  # page 256 holds the last elements of row 255
        assert pages[page]["thread"].to_list() == [3, 4], page


@pytest.mark.parametrize("version", ["dynamic", "cyclic", "halves"])
def test_key_buffer_has_a_bell_curve(record: Any, examples: Path, version: str) -> None:
    recording = record(examples / "bucketsort", "-t", THREADS, version)
    pages = by_page(recording, "key_buffer")
    accesses = [int(pages[page]["accesses"].sum()) for page in range(256)]
    assert max(accesses[:16] + accesses[-16:]) * 3 < min(accesses[112:144])
    assert sum(accesses[:64]) < sum(accesses[64:128])
    assert sum(accesses[192:]) < sum(accesses[128:192])


def test_dynamic_schedule_passes_pages_around(record: Any, examples: Path) -> None:
    recording = record(examples / "bucketsort", "-t", THREADS, "dynamic")
    users = main_users(by_page(recording, "key_buffer"))
    shares = [users[page][1] for page in range(64, 192)]
    assert sum(shares) / len(shares) < 0.85


def test_halves_give_each_thread_two_chunks(record: Any, examples: Path) -> None:
    recording = record(examples / "bucketsort", "-t", THREADS, "halves")
    users = main_users(by_page(recording, "key_buffer"))
    assert [users[page][0] for page in range(256)] == [t for t in range(4) for _ in range(32)] * 2
    assert min(users[page][1] for page in range(256)) > 0.85


@pytest.mark.parametrize("field", FIELDS)
def test_serial_seismic_is_touched_by_main_first(record: Any, examples: Path, field: str) -> None:
    recording = record(examples / "seismic", "-t", THREADS, "serial")
    touchers = first_touchers(recording, f"wave.{field}")
    assert len(touchers) >= 512
    assert set(touchers.values()) == {0}


@pytest.mark.parametrize("field", FIELDS)
def test_parallel_seismic_is_touched_by_its_users_first(
    record: Any, examples: Path, field: str
) -> None:
    recording = record(examples / "seismic", "-t", THREADS, "parallel")
    touchers = first_touchers(recording, f"wave.{field}")
    users = main_users(by_page(recording, f"wave.{field}"))
    assert set(touchers.values()) == set(range(THREADS))
    own = sum(touchers[page] == users[page][0] for page in touchers)
    assert own >= 0.95 * len(touchers)


@pytest.mark.parametrize(
    ("example", "version"),
    [
        ("matmul", "naive"),
        ("matmul", "block"),
        ("bucketsort", "dynamic"),
        ("bucketsort", "halves"),
        ("seismic", "serial"),
        ("seismic", "parallel"),
    ],
)
def test_accesses_belong_to_named_structures(
    record: Any, examples: Path, example: str, version: str
) -> None:
    recording = record(examples / example, "-t", THREADS, version)
    assert recording.status == 0
    assert recording.trace.info.attributed_share >= 0.95
