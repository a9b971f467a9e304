# SPDX-License-Identifier: Apache-2.0
"""Cache lines that travel between two threads that take turns, as programs/shared_lines.c says."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

ROUNDS, LINES = 100, 64
FIRST, SECOND = 1, 2  # threads
# For the first two writes of a thread to a line of another thread, the bytes are not known.
UNKNOWN = 2


@pytest.fixture(scope="module")
def recording(record: Any) -> Any:
    return record("shared_lines", traffic=True, cache="64K,8,64")


def rows_of(recording: Any, structure: str) -> pl.DataFrame:
    wanted = recording.trace.structures.filter(pl.col("name") == structure)
    rows: pl.DataFrame = recording.trace.transfers.join(
        wanted.select("structure"), on="structure", how="semi"
    )
    return rows.filter(pl.col("thread") > 0)  # main adds up at the end


def between(recording: Any, structure: str) -> dict[tuple[int, int], int]:
    sums = rows_of(recording, structure).group_by("from_thread", "thread")
    return {(a, b): n for a, b, n in sums.agg(pl.col("transfers").sum()).iter_rows()}


def shares(recording: Any, structure: str) -> tuple[int, int]:
    """Judged transfers, and those of them with bytes in common."""
    rows = rows_of(recording, structure)
    return int(rows["judged"].sum()), int(rows["true_sharing"].sum())


BOTH = {(FIRST, SECOND): ROUNDS, (SECOND, FIRST): ROUNDS - 1}


@pytest.mark.parametrize(
    ("structure", "transfers", "true_sharing"),
    [
        ("same_word", BOTH, 1.0),
        ("lock_word", BOTH, 1.0),
        ("two_words", BOTH, 0.0),
        ("heap", BOTH, 0.0),
        ("spun", BOTH, 0.0),
        ("queue", {(FIRST, SECOND): ROUNDS}, 1.0),
        ("read_beside", {(FIRST, SECOND): ROUNDS}, 0.0),
        ("bands", {(SECOND, FIRST): ROUNDS - 1}, 1.0),
        ("read_only", {(0, FIRST): LINES, (0, SECOND): LINES}, None),
        ("padded", {}, None),
    ],
)
def test_transfers(
    recording: Any,
    structure: str,
    transfers: dict[tuple[int, int], int],
    true_sharing: float | None,
) -> None:
    assert between(recording, structure) == transfers
    judged, shared = shares(recording, structure)
    if true_sharing is None:
        assert judged == 0
    else:
        assert judged >= sum(transfers.values()) - UNKNOWN
        assert shared == true_sharing * judged


def test_a_byte_that_is_used_later_in_a_turn_is_seen(recording: Any) -> None:
    rows = rows_of(recording, "late_word").group_by("thread").agg(pl.col("true_sharing").sum())
    # The second thread reads a word of the first in every second round; round 0 is not known.
    assert dict(rows.iter_rows()) == {FIRST: 0, SECOND: ROUNDS // 2 - 1}


def test_bytes_and_source_lines_of_both_sides(recording: Any) -> None:
    rows = rows_of(recording, "two_words").filter(pl.col("judged") > 0)
    assert set(rows["cache_line"]) == {0}
    by_thread = {row["thread"]: row for row in rows.iter_rows(named=True)}
    text = (Path(__file__).parent / "programs" / "shared_lines.c").read_text().splitlines()
    for thread, word in ((FIRST, 0), (SECOND, 1)):
        row = by_thread[thread]
        assert row["bytes"] == 0xFF << 8 * word
        assert row["from_bytes"] == 0xFF << 8 * (1 - word)
        assert text[row["line"] - 1].strip() == f"two_words[{word}] += 1;"
        assert text[row["from_line"] - 1].strip() == f"two_words[{1 - word}] += 1;"


def test_the_threads_of_a_pair_are_those_of_the_trace(recording: Any) -> None:
    assert recording.status == 0
    assert recording.output == f"{2 * ROUNDS}\n"


def test_without_traffic_there_are_none(record: Any) -> None:
    assert record("shared_lines").trace.transfers.is_empty()
