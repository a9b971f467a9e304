# SPDX-License-Identifier: Apache-2.0
"""The conditions for a move, and the text about it."""

from __future__ import annotations

import numpy as np
import pytest

from numascape.live.page_sets import PagesToMove
from numascape.live.plans import Move
from numascape.live.targets import TargetProcess
from numascape.prediction.model import Prediction
from numascape.tuning.advice import Advice, is_worth_moving
from numascape.tuning.loop import Outcome
from numascape.tuning.printing import outcome_lines


def prediction(relative: float, all_threads: float, remote: float = 0.5) -> Prediction:
    return Prediction(
        "", relative, relative, relative, relative, "thread 0", "thread", remote, remote,
        np.zeros((2, 2)), (0, 1), (), (relative,), all_threads=all_threads,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("relative", "all_threads", "is_worth"),
    [
        (0.97, 2.0, True),
        (0.99, 1.99, False),
        # The slowest thread gains nothing, but the others do.
        (1.0, 1.9, True),
        (1.01, 1.9, True),
        # All threads together gain, but the slowest one loses.
        (1.03, 1.9, False),
    ],
)
def test_a_move_saves_time_of_the_slowest_thread_or_of_all(
    relative: float, all_threads: float, is_worth: bool
) -> None:
    assert is_worth_moving(prediction(1.0, 2.0), prediction(relative, all_threads)) == is_worth


def test_threads_without_a_time_are_no_gain() -> None:
    assert not is_worth_moving(prediction(1.0, 0.0), prediction(1.0, 0.0))


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (prediction(0.9, 1.8, 0.0), "predicted: 0.90 of the time (0.90 to 0.90), 50 % remote "),
        (prediction(1.0, 1.8, 0.0), "predicted: 0.90 of the time of all threads together, if "
                                    "they do not wait for each other, 50 % remote "),
    ],
)  # fmt: skip
def test_it_is_said_whose_time_is_saved(after: Prediction, said: str) -> None:
    move = Move(TargetProcess(1, "service", 0), PagesToMove((), 0), ())
    lines = list(outcome_lines(Outcome(advice=Advice(move, (), prediction(1.0, 2.0), after))))
    assert lines[-1] == f"{said}accesses become 0 %"
