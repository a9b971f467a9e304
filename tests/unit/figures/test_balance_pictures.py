# SPDX-License-Identifier: Apache-2.0
"""Pictures of mappings and timelines show the right numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from numascape.balance import Problem, flat_target
from numascape.balance.generators import jacobi2d
from numascape.balance.simulation import simulate
from numascape.errors import NumascapeError
from numascape.figures.balance_picture import draw_balance
from numascape.figures.timeline_picture import draw_timeline, save_timeline


def test_bars_are_the_cores_times_and_cells_the_traffic() -> None:
    graph, target = jacobi2d(64, 16), flat_target(4, 4, 2.0)
    problem = Problem(graph, target)
    balanced = problem.run("numalb")
    loads, now, then, moves = draw_balance(problem, balanced).axes
    heights = [bar.get_height() for bar in loads.patches if isinstance(bar, Rectangle)]
    assert heights[:16] == problem.core_times(graph.core).tolist()
    assert heights[16:] == problem.core_times(balanced.mapping).tolist()
    for axes, mapping in ((now, graph.core), (then, balanced.mapping)):
        shown = axes.images[0].get_array()
        assert shown is not None
        assert np.allclose(shown, problem.node_traffic(mapping) / 1e6)
    moved = moves.images[0].get_array()
    assert moved is not None
    assert moved.sum() == balanced.metrics.migrations


def test_a_timeline_has_a_box_for_each_interval(tmp_path: Path) -> None:
    graph, target = jacobi2d(16, 4), flat_target(2, 2, 2.0)
    run = simulate(graph, target, graph.core, 2)
    axes = draw_timeline(run, "stencil").axes[0]
    boxes = sum(len(collection.get_paths()) for collection in axes.collections)
    assert boxes == len(run.intervals)
    assert [line.get_xdata()[0] for line in axes.lines] == run.iteration_ends  # type: ignore[index]
    with pytest.raises(NumascapeError, match=r"\.svg"):
        save_timeline(run, "stencil", tmp_path / "timeline.gif")
