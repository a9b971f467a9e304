# SPDX-License-Identifier: Apache-2.0
"""The picture of predictions shows their numbers, and no name in it is markup."""

from __future__ import annotations

import numpy as np
from matplotlib.patches import Rectangle

from numascape.figures.prediction_picture import draw_predictions
from numascape.prediction import Prediction


def prediction(label: str, relative: float) -> Prediction:
    traffic = np.array([[1e6, 2e6], [3e6, 4e9]])
    return Prediction(
        label, 2.0, relative, 0.5 * relative, 2 * relative, "link 0→1", "link", 0.5, 0.5, traffic,
        (0, 1), (), (2.0,), ("this & that",),
    )  # fmt: skip


def test_bars_are_times_and_cells_megabytes() -> None:
    times, *matrices = draw_predictions([prediction("a", 1.0), prediction("b", 0.4)], "M").axes
    bars = [bar.get_width() for bar in times.patches if isinstance(bar, Rectangle)]
    assert bars == [1.0, 0.4]
    assert [label.get_text() for label in times.get_yticklabels()] == ["a", "b"]
    shown = matrices[1].images[0].get_array()
    assert shown is not None
    assert shown.tolist() == [[1.0, 2.0], [3.0, 4000.0]]
    assert "4000" in [text.get_text() for text in matrices[1].texts]


def test_nothing_predicted_is_an_empty_picture() -> None:
    assert len(draw_predictions([], "M").axes) == 1
