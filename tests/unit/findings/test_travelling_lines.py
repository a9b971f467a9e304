# SPDX-License-Identifier: Apache-2.0
"""The sentences about lines that travel: how often, between which places, with which parts."""

from __future__ import annotations

from typing import Any

import pytest

from numascape.analysis.line_transfers import LineSums, PartsOfLines
from numascape.findings.diagnoses.travelling_lines import (
    _sides,
    _why,
    diagnose,
    separate,
    share_less,
)
from numascape.findings.finding import Finding, Kind, Place
from unit.analysis.test_line_transfers import transfers
from unit.findings.line_cases import used_by_all
from unit.findings.run_cases import run_of

F, G = Place("f", "a.c", 3), Place("g", "b.c", 4)


@pytest.mark.parametrize(
    ("sums", "sides", "parts", "said"),
    [
        (
            LineSums(9, 9, 4, 1),
            (F, G),
            None,
            "just written. In 75 % of these cases, the two threads used different bytes of the "
            "line, so they share no data. Most often, f (a.c:3) took the line, and g (b.c:4) had "
            "written it.",
        ),
        (LineSums(9, 1, 4, 1), (F, F), None, "1 time, a thread took"),
        (
            LineSums(9, 9, 4, 1),
            (F, F),
            None,
            "share no data. Most often, f (a.c:3) took the line, and had also written it.",
        ),
        (LineSums(9, 9, 4, 2), None, None, "In 50 % of these cases, the two threads used"),
        (
            LineSums(9, 9, 4, 3),
            None,
            None,
            "In 75 % of these cases, the two threads used the same bytes.",
        ),
        (LineSums(9, 9, 4, 3), None, PartsOfLines(40, 0, 2), "In 25 % of these cases, the two"),
        (
            LineSums(9, 9, 4, 1),
            None,
            PartsOfLines(1, 16, 4),
            "share no data. 4 threads use one line of 64 bytes. Each of them uses 1 byte of it; "
            "the distance between their parts is 16 bytes.",
        ),
    ],
)
def test_transfers_are_said_with_both_sides(
    sums: LineSums, sides: tuple[Place, Place] | None, parts: PartsOfLines | None, said: str
) -> None:
    text = _why(sums, sides, parts)
    times = "1 time" if sums.travelling == 1 else "9 times"
    assert text.startswith(
        f"{times}, a thread took a cache line that another thread had just written. "
    )
    assert said in text
    assert text.endswith(said) or sums.travelling == 1 or parts is not None or sums.true_sharing > 1


def test_without_a_step_the_parts_are_not_described() -> None:
    assert _why(LineSums(9, 9, 4, 1), None, PartsOfLines(40, 0, 2)).endswith("they share no data.")


def test_parts_are_padded_if_their_distance_is_known_else_aligned() -> None:
    padded = separate(PartsOfLines(8, 16, 4))
    assert padded[0].startswith("Pad each thread's element from 16 to 64 bytes")
    assert len(padded) == 2
    for unknown in (None, PartsOfLines(40, 0, 2)):
        (aligned,) = separate(unknown)
        assert aligned.startswith("Start each thread's part at a multiple of 64 bytes")
    assert len(share_less()) == 2


def test_sides_are_those_of_most_transfers_of_the_kind() -> None:
    def row(taker: str, writer: str, judged: int, same: int) -> Any:
        names = {"function": taker, "from_function": writer}
        return {**names, "judged": judged, "true_sharing": same}

    rows = transfers(row("f", "g", 9, 9), row("h", "g", 5, 2), row("", "g", 20, 10))
    assert _sides(rows, false=False) == (Place("f", "", 0), Place("g", "", 0))
    assert _sides(rows, false=True) == (Place("h", "", 0), Place("g", "", 0))
    assert _sides(rows.clear(), false=True) is None
    assert _sides(transfers(row("f", "", 9, 9)), false=False) is None


def found(true_sharing: int, divided: bool = False, step: bool = True) -> list[Finding]:
    """One line that two threads take from each other; `divided`: its pages have parts of both."""
    pattern, s = used_by_all(1, 4, 100_000)
    if step:
        pattern.take_lines(s, 0, (2, 3), (2000, 1000, true_sharing))
    else:
        place = ("work", "lines.c", 70) * 2
        halves = ((1 << 24) - 1, ((1 << 40) - 1) << 24)
        row = (s, 0, 0, 0, 2, 3, 0, *place, *halves, 2000, 2000, 1000, true_sharing)
        pattern.transfers.append(row)
    return diagnose(run_of(pattern), {s} if divided else set())


def test_numbers_of_false_and_true_sharing() -> None:
    (false,) = found(100)
    assert (false.kind, false.threads, false.nearer) == (Kind.LINE_FALSE_SHARING, (2, 3), 1800)
    assert [one.value for one in false.evidence] == [2000, 0.9, 2000 / 400_000]
    assert false.confidence == 1.0
    (half,) = found(500)
    assert (half.kind, half.confidence) == (Kind.LINE_FALSE_SHARING, 0.5)
    (true,) = found(700)
    assert (true.kind, true.nearer) == (Kind.LINE_TRUE_SHARING, 2000)
    assert true.confidence == pytest.approx(0.5 + 0.5 * 0.2 / 0.4)
    assert str(true.place) == "work (lines.c:71)"


def test_ends_of_long_parts_in_divided_pages_are_said_once() -> None:
    assert len(found(100, divided=True)) == 1
    assert len(found(100, step=False)) == 1
    assert found(100, divided=True, step=False) == []
    assert len(found(700, divided=True, step=False)) == 1  # true sharing
