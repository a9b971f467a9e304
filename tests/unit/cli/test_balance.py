# SPDX-License-Identifier: Apache-2.0
"""The verb `balance`."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from numascape.balance import ALGORITHMS, Options, TaskGraph, target_of_machine, task_graph
from numascape.balance.formats import write_graph
from numascape.balance.generators import jacobi2d
from numascape.balance.hierarchy import balance_by_groups
from numascape.machine import open_machine

Numascape = Callable[..., tuple[int, str, str]]


@pytest.fixture
def graph() -> TaskGraph:
    return jacobi2d(64, 16)


@pytest.fixture
def file(graph: TaskGraph, tmp_path: Path) -> Path:
    path = tmp_path / "stencil.json"
    write_graph(path, graph)
    return path


def rows(output: str) -> dict[str, list[str]]:
    return {words[0]: words[1:] for words in map(str.split, output.splitlines()[2:])}


def test_a_table_compares_now_with_then(numascape: Numascape, file: Path) -> None:
    status, output, _ = numascape("balance", file, "--machine", "numa16")
    assert status == 0
    assert output.startswith("64 tasks, 224 messages, 16 cores on 8 nodes of NUMA16")
    table = rows(output)
    assert set(table) == {"now", "incumbent"}
    assert float(table["incumbent"][0]) < float(table["now"][0])
    assert 0 < int(table["incumbent"][3]) < 40


def test_all_algorithms_are_compared(numascape: Numascape, file: Path) -> None:
    _, output, _ = numascape("balance", file, "-m", "numa16", "--compare")
    table = rows(output)
    assert list(table) == ["now", *ALGORITHMS]
    assert all(int(row[4]) <= int(row[3]) for name, row in table.items() if name != "now")


def test_caps_are_kept(numascape: Numascape, file: Path) -> None:
    _, output, _ = numascape("balance", file, "-m", "numa16", "--max-migrations", 3)
    assert int(rows(output)["incumbent"][3]) <= 3


def test_more_tasks_migrate_the_longer_the_mapping_stays(numascape: Numascape, file: Path) -> None:
    rare = ("balance", file, "-m", "numa16", "--start", "twolevel", "--start", "now")
    _, output, _ = numascape(*rare)
    _, later, _ = numascape(*rare, "--iterations", 1000, "--effort", 0.2)
    assert float(rows(later)["incumbent"][1]) < float(rows(output)["incumbent"][1])
    assert int(rows(later)["incumbent"][3]) > int(rows(output)["incumbent"][3])


@pytest.mark.parametrize("suffix", [".html", pytest.param(".svg", marks=pytest.mark.slow)])  # draws
def test_the_mapping_and_its_picture_are_written(
    numascape: Numascape, file: Path, tmp_path: Path, suffix: str
) -> None:
    mapping, picture = tmp_path / "to.csv", tmp_path / f"to{suffix}"
    status, output, said = numascape(
        "balance", file, "-m", "numa16", "-a", "numalb", "-o", mapping, "-p", picture
    )
    assert status == 0
    with mapping.open() as lines:
        moved = sum(row["before"] != row["core"] for row in csv.DictReader(lines))
    assert moved == int(rows(output)["numalb"][3])
    assert f"wrote {picture}" in said
    drawn = f"{moved} of 64 tasks migrate" in re.sub(r"<!-- (.*?) -->", r"\1", picture.read_text())
    assert drawn == (suffix == ".svg")
    assert picture.stat().st_size < 1_000_000


def test_a_mapping_goes_back_to_vt_as_its_own_files(numascape: Numascape, tmp_path: Path) -> None:
    for rank, ids in enumerate([[1, 2, 3, 4], [5]]):
        tasks = [{"entity": {"id": i, "type": "object"}, "node": rank, "time": 1} for i in ids]
        document = {"phases": [{"id": 0, "tasks": tasks}]}
        (tmp_path / f"data.{rank}.json").write_text(json.dumps(document))
    one_node = ("-m", "numa:1 core:2 pu:1")
    status, output, said = numascape(
        "balance", tmp_path / "data.0.json", *one_node, "-o", tmp_path / "mapped.0.json"
    )
    assert status == 0
    assert "mapped.1.json" in said
    mapped = json.loads((tmp_path / "mapped.1.json").read_text())
    assert len(mapped["phases"][1]["tasks"]) == 1 + int(rows(output)["incumbent"][3])


def test_groups_of_nodes_are_balanced_in_other_processes(
    numascape: Numascape, file: Path, graph: TaskGraph, tmp_path: Path
) -> None:
    to = tmp_path / "to.json"
    status, output, _ = numascape(
        "balance", file, "-m", "numa16", "--groups", 2, "--effort", 0.1, "-o", to
    )
    assert status == 0
    target = target_of_machine(open_machine("numa16"))
    with ThreadPoolExecutor(1) as executor:
        expected = balance_by_groups(graph, target, 2, executor, Options(effort=0.1))
    assert json.loads(to.read_text())["core"] == expected.mapping.tolist()
    (row,) = [line.split() for line in output.splitlines() if line.startswith("incumbent")]
    assert row[:3] == ["incumbent", "by", "groups"]
    assert int(row[6]) == expected.metrics.migrations


def test_groups_keep_a_memory_limit(numascape: Numascape, tmp_path: Path) -> None:
    file = tmp_path / "tasks.json"
    # All tasks are on the first three of 16 cores; a core has room for eight tasks.
    write_graph(file, task_graph(np.ones(96), np.arange(96) % 3, memory=np.full(96, 1 << 20)))
    command = ("balance", file, "-m", "numa16", "--groups", 4, "--memory-limit")
    status, output, _ = numascape(*command, "8M")
    assert status == 0
    lines = {line.split()[0]: line.split() for line in output.splitlines()[1:]}
    assert lines["now"][-2:] == ["3", "cores"]
    assert lines["incumbent"][-1] == "MiB"
    status, _, errors = numascape(*command, "5M")
    assert (status, errors.count("\n")) == (2, 1)
    assert "the tasks need 96 MiB together, but all cores have 80 MiB" in errors


@pytest.mark.slow  # draws
def test_a_timeline_is_drawn(numascape: Numascape, file: Path, tmp_path: Path) -> None:
    picture = tmp_path / "cores.svg"
    status, _, said = numascape(
        "balance", file, "-m", "numa16", "-a", "greedy", "--timeline", picture
    )
    assert status == 0
    assert f"wrote {picture}" in said
    assert "greedy, simulated:" in picture.read_text()


def test_the_loads_of_a_matrix_count(numascape: Numascape, tmp_path: Path) -> None:
    (tmp_path / "traffic.csv").write_text("0 1 0\n1 0 1\n0 1 0\n")
    (tmp_path / "loads").write_text("4 1 1")
    words = ("balance", tmp_path / "traffic.csv", "-m", "numa:1 core:2 pu:1", "-a", "greedy")
    _, even, _ = numascape(*words)
    status, uneven, _ = numascape(*words, "--loads", tmp_path / "loads")
    assert status == 0
    assert rows(even)["greedy"][0] == "1.333"
    assert rows(uneven)["greedy"][0] == "1.333"
    assert rows(uneven)["now"][0] != rows(even)["now"][0]


def test_time_is_limited(numascape: Numascape, file: Path) -> None:
    _, output, _ = numascape("balance", file, "-m", "numa16", "--time-limit", 0)
    assert int(rows(output)["incumbent"][3]) == 0


def test_threads_of_a_trace_are_tasks(
    numascape: Numascape, trace_folder: Path, tmp_path: Path
) -> None:
    free = ("--migration-price", 0)
    status, output, said = numascape(
        "balance", trace_folder, "-m", "numa16", *free, "-p", tmp_path / "threads.html"
    )
    assert status == 0
    assert "wrote" in said
    assert output.startswith("2 tasks, 2 messages")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("-a", "best"), "choose one of incumbent"),
        (("--message-cost", "much"), "not two numbers"),
        (("--start", "best"), "there is no start best: choose from now, scratch, twolevel"),
        (("--iterations", 0), "not a number above 0"),
        (("-f", "dot"), "choose one of json"),
        (("-o", "mapping.txt"), "files ending in .json, .csv or .map"),
        (("-p", "picture.gif"), "a mapping is drawn to files"),
        (("--timeline", "picture.gif"), "a timeline is drawn to"),
        (("--groups", 9), "--groups 9 is more than the 8 nodes"),
        (("--groups", 2, "-a", "numalb"), "--groups needs the algorithm incumbent"),
        (("--groups", 2, "--mpi", "--dask", "here:1"), "either --dask or --mpi"),
        (("--mpi",), "--dask and --mpi need --groups"),
        (("--alpha", -1), "--alpha -1 is not a number of at least 0"),
        (("--max-imbalance", 0.9), "--max-imbalance 0.9 is not a number of at least 1"),
        (("--migration-price", -1), "--migration-price -1 is not a number of at least 0"),
        (("--migration-price", "nan"), "--migration-price nan is not a number of at least 0"),
        (("--max-imbalance", "nan"), "--max-imbalance nan is not a number of at least 1"),
        (("--alpha", "nan"), "--alpha nan is not a number of at least 0"),
        (("--max-migrations", "nan"), "--max-migrations nan is not a number of at least 0"),
        (("--time-limit", "nan"), "--time-limit nan is not a number of at least 0"),
        (("--effort", "nan"), "--effort nan is not a number of at least 0"),
        (("--effort", "inf"), "--effort inf is not a number of at least 0"),
        (("--loads", "no such file"), "cannot read no such file"),
        (("--level-costs", "measured"), "leave out --machine"),
        (("--level-costs", "missing.csv"), "cannot read missing.csv"),
        (("-m", "machine of dreams"), "there is no machine"),
    ],
)
def test_mistakes_are_told_in_one_line(
    numascape: Numascape, file: Path, arguments: tuple[object, ...], complaint: str
) -> None:
    status, _, errors = numascape("balance", file, "-m", "numa16", *arguments)
    assert status == 2
    assert complaint in errors
    assert errors.count("\n") == 1
