# SPDX-License-Identifier: Apache-2.0
"""A loop whose range changes each time it runs, so that the writers of a page change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from numascape.findings import Finding, Kind, findings_of
from numascape.findings.finding import Place
from numascape.findings.sources import Sources
from synthetic.pattern import Pattern
from unit.findings.run_cases import region, run_of

THREADS = 40
LOOP = Place("eliminate", "/src/lu.c", 4, loop=True)


class Moving(Sources):
    """Sources in which the range of the divided loop depends on `k`."""

    def moving_range(self, region: Place | None) -> tuple[Place, str] | None:
        return (LOOP, "k") if region else None


def found(writers: int, sources: Sources) -> list[Finding]:
    """All threads read each page, and this number of them write it."""
    pattern = Pattern("lu", THREADS)
    matrix = pattern.structure("A", THREADS)
    work = region(pattern, "eliminate", 3)
    page = np.arange(THREADS)
    for thread in range(THREADS):
        written = (page - thread) % THREADS < writers
        pattern.access(matrix, page, thread, 1000, np.where(written, 500, 0), phase=work)
    pattern.touch(matrix, page, page, phase=0)
    run = replace(run_of(pattern), sources=sources)
    return [finding for finding in findings_of(run) if finding.structure == 0]


def writers_change(share: float) -> bool:
    return {one.kind for one in found(round(share * THREADS), Moving(None))} == {
        Kind.CHANGING_USERS
    }
