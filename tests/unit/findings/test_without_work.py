# SPDX-License-Identifier: Apache-2.0
"""Runs without accesses that count as work have a verdict on any machine."""

from __future__ import annotations

import numpy as np
import pytest

from numascape.findings import examine, findings_of
from numascape.findings.gain import best_policy
from numascape.machine import open_machine
from synthetic.in_memory import trace_of
from synthetic.pattern import Pattern


@pytest.mark.parametrize("accesses", [0, 1])
def test_a_run_that_only_touches_a_page_is_predicted(accesses: int) -> None:
    pattern = Pattern("touch", 2)
    structure = pattern.structure("A", 4)
    pattern.access(structure, np.array([0]), 0, 0, accesses)
    pattern.touch(structure, np.arange(4), 0)
    run = examine(trace_of(pattern), open_machine("numa16"))
    policy = best_policy(run)
    assert policy is not None
    assert policy.relative <= 1
    assert not any(finding.to_do for finding in findings_of(run))
