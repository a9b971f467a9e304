# SPDX-License-Identifier: Apache-2.0
"""The totals agree with Valgrind's lackey, which counts loads and stores independently.

The programs are static and free of the C library, so that both observers see the same
instructions; lackey reports each load (L), store (S) and read-modify-write (M).
"""

import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

STRADDLING = 50


def lackey_counts(program: Path) -> tuple[int, int]:
    command = ["valgrind", "--tool=lackey", "--basic-counts=no", "--trace-mem=yes", str(program)]
    kinds: Counter[str] = Counter()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as valgrind:
        assert valgrind.stderr is not None
        for line in valgrind.stderr:
            kinds[line[:3]] += 1
    assert valgrind.returncode == 0
    return kinds[" L "] + kinds[" M "], kinds[" S "] + kinds[" M "]


@pytest.mark.parametrize("program", ["freestanding_sort", "freestanding_float"])
def test_totals_agree_with_lackey(record: Any, programs: Path, program: str) -> None:
    reads, writes = lackey_counts(programs / program)
    assert reads > 100_000
    totals = record(program).trace.info.totals
    # Vectors that straddle two pages count on both: ten times at each of a few borders.
    assert totals.reads == pytest.approx(reads, rel=1e-4, abs=STRADDLING)
    assert totals.writes == pytest.approx(writes, rel=1e-4, abs=STRADDLING)
