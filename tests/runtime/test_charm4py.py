# SPDX-License-Identifier: Apache-2.0
"""The balancer in a running charm4py application: chares migrate as mapped."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PROGRAMS = Path(__file__).parent / "programs"


def run(folder: Path, program: str, *arguments: str) -> dict[str, Any]:
    """Run on two processors; the result that the program wrote."""
    file = folder / "result.json"
    command = [sys.executable, "-m", "charmrun.start", "+p2", str(PROGRAMS / program)]
    done = subprocess.run(
        [*command, *arguments, str(file), "++quiet"],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert file.exists(), done.stdout[-2000:] + done.stderr[-2000:]
    result: dict[str, Any] = json.loads(file.read_text())
    return result


@pytest.mark.parametrize(
    ("benchmark", "algorithm"),
    [("kNeighbor", "incumbent"), ("lb_test", "numalb"), ("jacobi2D", "incumbent")],
)
def test_chares_migrate_and_loads_become_even(
    benchmark: str, algorithm: str, tmp_path: Path
) -> None:
    result = run(tmp_path, "benchmarks.py", benchmark, algorithm)
    assert result["where"] == result["mapping"]
    assert result["messages"] == result["expected"]
    placed = np.arange(len(result["where"])) % 4 == 3
    assert result["migrations"] == np.count_nonzero(placed != np.array(result["mapping"]))
    # Three quarters of the work on one of two processors: 1.5 before.
    assert result["imbalance"] < 1.25
    before, after = result["seconds"]
    print(f"{benchmark}, {algorithm}: {1000 * before:.1f} ms per iteration, then "
          f"{1000 * after:.1f} ms")  # fmt: skip


def test_elements_that_synchronise_are_balanced_and_resumed(tmp_path: Path) -> None:
    result = run(tmp_path, "at_sync.py")
    where, mappings = result["where"], result["mappings"]
    # Each worked three times, on the processor of the previous balancing.
    assert [row[0] for row in where] == list(range(24))
    assert [row[1] for row in where] == [0] * 24
    for number in range(3):
        assert [row[2 + number] for row in where] == mappings[number]
    assert len(mappings) == 3
    assert set(mappings[0]) == {0, 1}
    assert result["imbalance"][0] < 1.2
