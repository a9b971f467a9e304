# SPDX-License-Identifier: Apache-2.0
"""Options of the verb `balance` that have no effect, or cannot have one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from numascape.balance.formats import write_graph
from numascape.balance.generators import jacobi2d

Numascape = Callable[..., tuple[int, str, str]]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "stencil.json"
    write_graph(path, jacobi2d(64, 16))
    return path


@pytest.mark.parametrize(
    ("option", "name", "error"),
    [
        ("-o", "mapping.txt", "a mapping is written to files ending in .json, .csv or .map"),
        ("-p", "loads.txt", "a mapping is drawn to files that end in one of .pdf, .svg, .png, "),
        ("-o", "nowhere/mapping.csv", " is not a folder"),
        ("-p", "nowhere/loads.svg", " is not a folder"),
        ("--timeline", "nowhere/cores.svg", " is not a folder"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_balancing(
    option: str, name: str, error: str, numascape: Numascape, file: Path, tmp_path: Path
) -> None:
    before = set(tmp_path.iterdir())
    status, output, errors = numascape("balance", file, "-m", "numa16", option, tmp_path / name)
    assert (status, output) == (2, "")
    assert errors.startswith("numascape: error: ")
    assert error in errors
    assert errors.count("\n") == 1
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize("cost", ["-1,0", "1,-1", "nan,0", "1,inf"])
def test_the_cost_of_a_message_is_a_number_from_0(
    cost: str, numascape: Numascape, file: Path
) -> None:
    status, output, errors = numascape("balance", file, "-m", "numa16", f"--message-cost={cost}")
    assert (status, output) == (2, "")
    assert errors.startswith("numascape: error: --message-cost ")
    assert "is not a number of at least 0" in errors


def test_options_that_an_algorithm_does_not_use_are_named(numascape: Numascape, file: Path) -> None:
    given = ("--max-migrations", 3, "--start", "metis", "--time-limit", 5, "--memory-limit", "8G")
    status, _, errors = numascape("balance", file, "-m", "numa16", "-a", "metis", *given)
    assert status == 0
    note = "note: only incumbent uses --max-migrations, --start, --time-limit, --memory-limit"
    assert note in errors
    for used in (("-a", "metis", "--compare"), ("-a", "incumbent")):
        assert "note: only" not in numascape("balance", file, "-m", "numa16", *used, *given)[2]
    assert "note: only" not in numascape("balance", file, "-m", "numa16", "-a", "metis")[2]


def test_a_memory_limit_for_tasks_without_memory_is_named(numascape: Numascape, file: Path) -> None:
    status, _, errors = numascape("balance", file, "-m", "numa16", "--memory-limit", "8G")
    assert status == 0
    assert "note: the memory of these tasks is unknown: --memory-limit has no effect" in errors


def test_fewer_hosts_than_the_tasks_are_on_are_refused(numascape: Numascape, file: Path) -> None:
    status, output, errors = numascape("balance", file, "-m", "core:4 pu:1", "--hosts", 2)
    assert (status, output) == (2, "")
    expected = "--hosts 2 is too few: the tasks are on cores of 4 hosts"
    assert errors == f"numascape: error: {expected}\n"
