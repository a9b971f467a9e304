# SPDX-License-Identifier: Apache-2.0
"""Signals come to handlers as the kernel promises, and no handler loses counts."""

from typing import Any

import pytest

PAGES = 20000


@pytest.fixture(scope="module", params=["compiled", "faults", "binary"])
def recorder(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_handler_that_touches_new_pages_loses_none(compiled: Any) -> None:
    recording = compiled("interrupted", "touch")
    assert (recording.output, recording.status) == ("right\n", 7)
    for structure in ("outer", "inner"):
        assert recording.total(structure) == (0, PAGES)
        touched = recording.trace.structures.filter(name=structure)
        assert recording.trace.first_touch.join(touched, on="structure").height == PAGES


@pytest.mark.parametrize("mode", ["jump", "values", "once"])
def test_signals_come_as_the_kernel_promises(compiled: Any, mode: str) -> None:
    recording = compiled("interrupted", mode)
    assert (recording.output, recording.status) == ("right\n", 7)


def test_queued_signals_keep_their_order(built: Any, record: Any, recorder: str) -> None:
    recording = record(built / "interrupted", "bursts", recorder=recorder)
    assert (recording.output, recording.status) == ("right\n", 7)


def test_a_handler_that_jumps_away_leaves_nothing_locked(compiled: Any) -> None:
    _, writes = compiled("interrupted", "jump").total("outer")
    # A jump may come between the count of an access and the access, which is then repeated.
    assert 20 * PAGES <= writes < 21 * PAGES


def test_the_program_reads_back_its_own_handlers(built: Any, record: Any, recorder: str) -> None:
    recording = record(built / "interrupted", "seen", recorder=recorder)
    assert (recording.output, recording.status) == ("right\n", 7)
