# SPDX-License-Identifier: Apache-2.0
"""A recording by DAMON in which nothing was seen is refused."""

import numpy as np
import pytest

from numascape.errors import NumascapeError
from numascape.live.targets import TargetProcess
from numascape.recorders.running_regions import require_use
from numascape.samples.regions import Look

SLEEPS = TargetProcess(4242, "sleeps", 1)


def look(*accesses: int) -> Look:
    starts = np.arange(len(accesses), dtype=np.uint64) * np.uint64(4096)
    return Look(1000, starts, starts + np.uint64(4096), np.array(accesses, dtype=np.uint64))


@pytest.mark.parametrize("looks", [[], [look(0, 0), look(0)]])
def test_a_process_that_uses_no_memory_is_refused(looks: list[Look]) -> None:
    with pytest.raises(NumascapeError, match=r"process 4242 \(sleeps\) used no memory that DAMON"):
        require_use(SLEEPS, looks, 2.0)


def test_one_access_is_enough() -> None:
    require_use(SLEEPS, [look(0, 0), look(0, 1)], 2.0)
