# SPDX-License-Identifier: Apache-2.0
"""Which source lines use which structure; see src/native/source-lines/line_counts.h."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

_Columns = Mapping[str, npt.NDArray[Any]]

def count_lines(
    accesses: _Columns,
    samples: _Columns,
    samples_of_owners: _Columns,
    shared_samples: _Columns,
    shares: _Columns,
    structures: npt.NDArray[np.uint32],
    totals: _Columns,
    nowhere: int,
) -> dict[str, npt.NDArray[np.uint32 | np.uint64]]:
    """The accesses of source lines to structures, in order of structure, phase and place.

    `accesses`: site, phase, place, reads, writes, executions. `samples`: site, phase, structure,
    weight, whole. `samples_of_owners`: site, phase, owner, weight, whole. `shared_samples`: site,
    phase, group, weight. `shares`: group, owner, share. `structures` has that of each owner, or
    2^32 - 1 if it has none, and its samples do not count.
    `totals`: structure, phase, reads, writes.

    The result: structure, phase, place, reads, writes, estimated.
    """
