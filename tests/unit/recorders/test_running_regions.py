# SPDX-License-Identifier: Apache-2.0
"""A recording by DAMON in which nothing was seen is refused."""

import numpy as np
import pytest

from numascape.errors import NumascapeError
from numascape.live.targets import TargetProcess
from numascape.recorders.running_regions import require_use
from numascape.samples.regions import RegionAccesses

SLEEPS = TargetProcess(4242, "sleeps", 1)


def accesses_of(*accesses: int) -> RegionAccesses:
    starts = np.arange(len(accesses), dtype=np.uint64) * np.uint64(4096)
    return RegionAccesses(
        1000, starts, starts + np.uint64(4096), np.array(accesses, dtype=np.uint64)
    )


@pytest.mark.parametrize("seen", [[], [accesses_of(0, 0), accesses_of(0)]])
def test_a_process_that_uses_no_memory_is_refused(seen: list[RegionAccesses]) -> None:
    with pytest.raises(NumascapeError, match=r"process 4242 \(sleeps\) used no memory that DAMON"):
        require_use(SLEEPS, seen, 2.0)


def test_one_access_is_enough() -> None:
    require_use(SLEEPS, [accesses_of(0, 0), accesses_of(0, 1)], 2.0)
