# SPDX-License-Identifier: Apache-2.0
"""The balancer in a running charm4py application: chares migrate as mapped."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PROGRAMS = Path(__file__).parent / "programs"


def run(
    folder: Path, program: str, *arguments: str, runtime: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Run on two processors; return the program's result, with its output as `output`."""
    file = folder / "result.json"
    file.unlink(missing_ok=True)
    command = [sys.executable, "-m", "charmrun.start", "+p2", str(PROGRAMS / program)]
    done = subprocess.run(
        [*command, *arguments, str(file), *runtime, "++quiet"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert file.exists(), done.stdout[-2000:] + done.stderr[-2000:]
    result: dict[str, Any] = json.loads(file.read_text())
    return result | {"output": done.stdout}


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
    # Three quarters of the work are on one of two processors, so the imbalance was 1.5 before.
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


# k_neighbor.py: elements on a ring, each with neighbours up to four places away.
ELEMENTS = 32
ITERATIONS = 3


def numbers_after(iterations: int) -> list[int]:
    """The numbers of all elements, computed without a runtime."""
    numbers = list(range(1, ELEMENTS + 1))
    for _ in range(iterations):
        sums = [
            sum(numbers[(i + d) % ELEMENTS] for d in range(-4, 5) if d) for i in range(ELEMENTS)
        ]
        numbers = [(3 * own + other) % 1_000_003 for own, other in zip(numbers, sums, strict=True)]
    return numbers


def moved(where: list[list[int]]) -> list[int]:
    """For each balancing, the number of elements that it moved to another processor."""
    return [sum(row[i] != row[i + 1] for row in where) for i in range(ITERATIONS)]


def test_k_neighbor_under_our_strategy_and_under_those_of_the_runtime(tmp_path: Path) -> None:
    ours = run(tmp_path, "k_neighbor.py", "numascape")
    assert ours["numbers"] == numbers_after(ITERATIONS)
    assert [[row[i + 1] for row in ours["where"]] for i in range(ITERATIONS)] == ours["mappings"]
    assert moved(ours["where"]) == ours["migrations"]
    # Processor 0 begins with 24 of 32 equal elements.
    assert 0 < ours["migrations"][0] < ELEMENTS

    for strategy in ("GreedyRefineLB", "RotateLB"):
        theirs = run(
            tmp_path, "k_neighbor.py", strategy, runtime=("+balancer", strategy, "+LBDebug", "1")
        )
        assert theirs["numbers"] == ours["numbers"]
        told = re.findall(r"num_migrations=(\d+)", theirs["output"])
        assert moved(theirs["where"]) == [int(count) for count in told]
        if strategy == "RotateLB":  # it moves every element to the next processor
            assert moved(theirs["where"]) == [ELEMENTS] * ITERATIONS
