# SPDX-License-Identifier: Apache-2.0
"""Made-up results of the experiment with the page cache, on two nodes of 4 GiB each."""

from __future__ import annotations

from typing import Final

from numascape.host.experiment import ExperimentResult
from numascape.host.triads import Triad

GIB: Final = 1 << 30
_LOCAL: Final = {0: 1.0, 2: 0.75, 4: 0.5, 8: 0.625}
"""The local share with first touch, by the size of the file in GiB."""
_PAGES: Final = 1 << 20


def page_cache_results() -> list[ExperimentResult]:
    """First touch loses local pages; a sweep before keeps all of them."""
    results = []
    for size, local in _LOCAL.items():
        cache = {0: min(size, 4) * GIB, 1: max(0, size - 4) * GIB}
        for way, share, left in (("first touch", local, cache), ("swept", 1.0, {0: 0, 1: 0})):
            on_first = int(_PAGES * share / 2)
            speed = 400.0 * (1 + share)
            triad = Triad(
                (speed - 20, speed, speed + 30), {0: on_first, 1: _PAGES - on_first}, share
            )
            freed = (5000, 7) if size == 8 and way == "first touch" else (0, 0)
            results.append(ExperimentResult(size * GIB, way, triad, left, freed))
    return results
