# SPDX-License-Identifier: Apache-2.0
"""The user's measure is a command whose last line is a number; only clear losses count."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from numascape import NumascapeError
from numascape.live.targets import target_of
from numascape.tuning.metric import Measured, Metric, is_worse, measure_metric


def never() -> bool:
    return False


@pytest.mark.program
def test_each_run_gives_a_number(tmp_path: Path) -> None:
    file = tmp_path / "runs"
    command = f"echo warming up; echo x >>{file}; wc -l <{file}; echo"
    assert measure_metric(Metric(command, 3), never) == Measured((1.0, 2.0, 3.0))


@pytest.mark.program
@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("echo fast", "must be a number, but is 'fast'"),
        ("true", "must be a number, but is ''"),
        ("echo nan", "must be a number"),
        ("echo 12; exit 3", "ended with status 3"),
        ("no-such-command-here 2>/dev/null", "ended with status 127"),
    ],
)
def test_a_measure_without_a_number_is_an_error(command: str, message: str) -> None:
    with pytest.raises(NumascapeError, match=message):
        measure_metric(Metric(command, 1), never)


@pytest.mark.program
def test_a_signal_ends_the_command(tmp_path: Path) -> None:
    started = tmp_path / "started"
    command = f"touch {started}; exec sleep 1000"
    assert measure_metric(Metric(command, 3), started.exists) is None


@pytest.mark.program
def test_a_signal_also_ends_what_the_command_has_started(tmp_path: Path) -> None:
    child = tmp_path / "child"
    command = f"sleep 1000 & echo $! >{child}.new; mv {child}.new {child}; wait"
    assert measure_metric(Metric(command, 3), child.exists) is None
    pid = int(child.read_text())
    deadline = time.monotonic() + 60
    while target_of(pid) is not None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert target_of(pid) is None


@pytest.mark.parametrize(
    ("after", "higher_is_better", "worse"),
    [
        ((7.0, 8.0, 6.0), True, True),
        ((9.5, 7.0, 10.5), True, False),  # inside the range of the runs before
        ((12.0, 12.5, 3.0), True, False),
        ((12.0, 12.5, 3.0), False, True),
        ((7.0, 8.0, 6.0), False, False),
    ],
)
def test_a_median_worse_than_each_run_before_is_worse(
    after: tuple[float, ...], higher_is_better: bool, worse: bool
) -> None:
    before = Measured((10.0, 9.0, 11.0))
    assert is_worse(Metric("", 3, higher_is_better), before, Measured(after)) is worse
