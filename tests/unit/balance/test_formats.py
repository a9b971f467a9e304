# SPDX-License-Identifier: Apache-2.0
"""Task graphs from files: their content, and errors of one line."""

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path

import brotli
import numpy as np
import pytest

from numascape.balance import Problem, TaskGraph, flat_target
from numascape.balance.formats import (
    format_of,
    read_graph,
    write_graph,
    write_lbaf_mapping,
    write_mapping,
)
from numascape.balance.formats.loads import with_loads
from numascape.errors import NumascapeError
from unit.balance.conftest import lbdump


def edges(graph: TaskGraph) -> list[tuple[int, int, float, float]]:
    sizes = graph.bytes if len(graph.bytes) else np.zeros(graph.messages)
    return list(
        zip(graph.senders.tolist(), graph.to.tolist(), graph.count.tolist(), sizes.tolist(),
            strict=True)
    )  # fmt: skip


def same(one: TaskGraph, other: TaskGraph) -> bool:
    return all(np.array_equal(value, other.__dict__[name]) for name, value in vars(one).items())


def test_messages_of_a_pair_are_added_up(small: TaskGraph) -> None:
    assert edges(small) == [(0, 1, 2, 100), (1, 0, 1, 50), (2, 3, 4, 30)]


def test_our_document_is_read_as_it_was_written(small: TaskGraph, tmp_path: Path) -> None:
    write_graph(tmp_path / "tasks.json", small)
    assert same(read_graph(tmp_path / "tasks.json", 2), small)


def test_json_is_known_by_its_content_whatever_its_name(small: TaskGraph, tmp_path: Path) -> None:
    write_graph(tmp_path / "tasks.json", small)
    content = (tmp_path / "tasks.json").read_bytes()
    (tmp_path / "tasks.json.gz").write_bytes(gzip.compress(content))
    (tmp_path / "tasks.json.br").write_bytes(brotli.compress(content))
    (tmp_path / "tasks.0.json").write_bytes(content)
    late = {"load": [1.0] * 5000, "format": "numascape tasks", "version": 1}
    (tmp_path / "late.7.json").write_text(json.dumps(late))
    for name in ("tasks.json.gz", "tasks.json.br", "tasks.0.json"):
        assert same(read_graph(tmp_path / name, 2), small), name
    assert read_graph(tmp_path / "late.7.json", 2).tasks == 5000
    (tmp_path / "vt.json").write_bytes(lbaf(0, [1, 2, 3]))
    assert format_of(tmp_path / "vt.json") == "lbaf"


def test_tables_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "tasks.csv").write_text("load,core,fixed\n1.5,1,0\n2,0,1\n")
    (tmp_path / "messages.csv").write_text("sender,receiver,bytes\n0,1,64\n0,1,36\n")
    graph = read_graph(tmp_path, 2)
    assert graph.load.tolist() == [1.5, 2.0]
    assert graph.core.tolist() == [1, 0]
    assert graph.fixed.tolist() == [0, 1]
    assert edges(graph) == [(0, 1, 2, 100)]


@pytest.mark.parametrize("separator", [",", ";", " ", "\t"])
def test_a_communication_matrix(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "traffic.csv"
    path.write_text("\n".join(separator.join(row) for row in ("070", "000", "300")))
    graph = read_graph(path, 3)
    assert edges(graph) == [(0, 1, 1, 7), (2, 0, 1, 3)]
    assert graph.core.tolist() == [0, 1, 2]


def test_a_matrix_with_loads(tmp_path: Path) -> None:
    (tmp_path / "traffic.csv").write_text("0 7 0\n0 0 0\n3 0 0\n")
    loads = tmp_path / "loads.txt"
    loads.write_text("# seconds\n1.5, 2\n0.25\n")
    graph = with_loads(read_graph(tmp_path / "traffic.csv", 3), loads)
    assert graph.load.tolist() == [1.5, 2, 0.25]
    assert edges(graph) == [(0, 1, 1, 7), (2, 0, 1, 3)]
    for text, complaint in (
        ("1 2", "has 2 loads, but there are 3 tasks"),
        ("1 2 -3", "negative load: -3"),
        ("1 2 much", "line 1: a word is not a number"),
        ("1 2 nan", "line 1: a number is not finite"),
    ):
        loads.write_text(text)
        with pytest.raises(NumascapeError, match=complaint):
            with_loads(graph, loads)


@pytest.mark.parametrize("new", [True, False], ids=["Charm++ 7 and 8", "Charm++ 6"])
def test_a_dump_of_charm(tmp_path: Path, new: bool) -> None:
    graph = read_graph(lbdump(tmp_path / "lb.dat", new), 2)
    assert graph.load.tolist() == [1.5, 0.5, 0.25]
    assert graph.core.tolist() == [0, 0, 1]
    assert graph.fixed.tolist() == [0, 0, 1]
    assert graph.migrated_bytes.tolist() == [0, 64, 128]
    assert graph.background.tolist() == [0.125, 0.25]
    assert edges(graph) == [(0, 1, 4, 400), (1, 0, 2, 60), (1, 2, 2, 60)]


def lbaf(rank: int, ids: list[int], phases: int = 2) -> bytes:
    tasks = [
        {"entity": {"id": i, "migratable": i != 3, "type": "object"}, "node": rank,
         "resource": "cpu", "time": float(i)}
        for i in ids
    ]  # fmt: skip
    communication = {
        "type": "SendRecv", "from": {"type": "object", "id": ids[0]},
        "to": {"type": "object", "id": 3}, "bytes": 8.0, "messages": 2,
    }  # fmt: skip
    return json.dumps(
        {
            "type": "LBDatafile",
            "phases": [
                {"id": p, "tasks": tasks, "communications": [communication]} for p in range(phases)
            ],
        }
    ).encode()


@pytest.mark.parametrize("compressed", [False, True])
def test_files_of_vt_one_for_each_rank(tmp_path: Path, compressed: bool) -> None:
    for rank, ids in enumerate([[1, 2], [3]]):
        content = lbaf(rank, ids, phases=3 - rank)
        name = f"data.{rank}.json" + (".br" if compressed else "")
        (tmp_path / name).write_bytes(brotli.compress(content) if compressed else content)
    graph = read_graph(next(tmp_path.glob("data.0.*")), 2)
    assert graph.load.tolist() == [1, 2, 3]
    assert graph.core.tolist() == [0, 0, 1]
    assert graph.fixed.tolist() == [0, 0, 1]
    assert edges(graph) == [(0, 2, 2, 8), (2, 2, 2, 8)]


def test_a_mapping_is_one_phase_more_of_vts_files(tmp_path: Path) -> None:
    for rank, ids in enumerate([[1, 2], [3]]):
        (tmp_path / f"data.{rank}.json").write_bytes(lbaf(rank, ids, phases=3 - rank))
    source = tmp_path / "data.0.json"
    to = np.array([1, 0, 1], np.uint32)
    written = write_lbaf_mapping(tmp_path / "to.0.json.br", source, to)
    assert [file.name for file in written] == ["to.0.json.br", "to.1.json.br"]
    # Phase 1 is the last that both ranks have.
    mapped = [json.loads(brotli.decompress(file.read_bytes())) for file in written]
    assert [[phase["id"] for phase in rank["phases"]] for rank in mapped] == [[0, 1, 2]] * 2
    assert [[task["entity"]["id"] for task in rank["phases"][2]["tasks"]] for rank in mapped] == [
        [2],
        [1, 3],
    ]
    assert mapped[1]["phases"][:2] == json.loads(lbaf(1, [3]))["phases"]
    # It is read like any other file: tasks are on the ranks to which they were sent.
    assert read_graph(written[0], 2).core.tolist() == [0, 1, 1]
    with pytest.raises(NumascapeError, match="ranks 0 to 1"):
        write_lbaf_mapping(tmp_path / "to.0.json", source, np.array([2, 0, 1], np.uint32))
    assert not list(tmp_path.glob("to.*.json"))


def test_a_graph_of_metis(tmp_path: Path) -> None:
    path = tmp_path / "three.graph"
    path.write_text("% comment\n3 2 011\n5 2 7\n6 1 7 3 9\n8 2 9\n")
    graph = read_graph(path, 2)
    assert graph.load.tolist() == [5, 6, 8]
    assert edges(graph) == [(0, 1, 7, 0), (1, 0, 7, 0), (1, 2, 9, 0), (2, 1, 9, 0)]


def test_metis_itself_agrees_on_a_vertex_without_edges(tmp_path: Path) -> None:
    path = tmp_path / "gap.graph"
    path.write_text("3 1\n3\n\n1\n")
    assert edges(read_graph(path, 2)) == [(0, 2, 1, 0), (2, 0, 1, 0)]


@pytest.mark.program
def test_a_graph_of_scotch_that_scotch_accepts(tmp_path: Path) -> None:
    path = tmp_path / "three.grf"
    path.write_text("0\n3 4\n1 011\n5 1 7 2\n6 2 7 1 9 3\n8 1 9 2\n")
    checked = subprocess.run(["gtst", path], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    graph = read_graph(path, 2)
    assert graph.load.tolist() == [5, 6, 8]
    assert edges(graph) == [(0, 1, 7, 0), (1, 0, 7, 0), (1, 2, 9, 0), (2, 1, 9, 0)]


def test_a_mapping_in_each_form(small: TaskGraph, tmp_path: Path) -> None:
    target = flat_target(2, 1, 2.0)
    balanced = Problem(small, target).run("greedy")
    for suffix in (".json", ".csv", ".map"):
        write_mapping(tmp_path / f"to{suffix}", small, target, balanced)
    mapping = balanced.mapping.tolist()
    assert json.loads((tmp_path / "to.json").read_text())["core"] == mapping
    rows = (tmp_path / "to.csv").read_text().splitlines()
    assert rows[0] == "task,before,core,cpu,node"
    assert [int(row.split(",")[2]) for row in rows[1:]] == mapping
    assert (tmp_path / "to.map").read_text().split() == [
        "4", *(str(word) for pair in enumerate(mapping) for word in pair)
    ]  # fmt: skip
    with pytest.raises(NumascapeError, match=r"ending in \.json"):
        write_mapping(tmp_path / "to.txt", small, target, balanced)


REFUSED = {
    "empty.json": "",
    "other.json": '{"format": "something", "version": 1, "load": []}',
    "later.json": '{"format": "numascape tasks", "version": 9, "load": []}',
    "negative.json": '{"format": "numascape tasks", "version": 1, "load": [-1]}',
    "infinite.json": '{"format": "numascape tasks", "version": 1, "load": [1e999]}',
    "short.json": '{"format": "numascape tasks", "version": 1, "load": [1], "core": []}',
    "nobody.json": '{"format": "numascape tasks", "version": 1, "load": [1],'
    ' "messages": {"sender": [0], "receiver": [7]}}',
    "oblong.csv": "1,2\n",
    "words.csv": "a,b\nc,d\n",
    "nan.csv": "nan\n",
    "negative.csv": "-1\n",
    "gap.csv": "1,,2\n1,2,3\n1,2,3\n",
    "none.graph": "",
    "few.graph": "3 1\n2\n1\n",
    "edges.graph": "2 5\n2\n1\n",
    "beyond.graph": "2 1\n3\n1\n",
    "long.graph": "99999999999999999999 1\n",
    "version.grf": "7 1 1",
    "vertices.grf": "0 999999999999 4 0 000",
    "degree.grf": "0 2 4 0 000 999999999 1",
    "nowhere.grf": "0 1 1 0 000 1 5",
    "data.0.json": '{"phases": [{"id": 0, "tasks": [{"entity": {}, "time": 1}]}]}',
    "cut.0.json.br": "x",
    "what.txt": "?",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_makes_no_sense_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(REFUSED[name])
    with pytest.raises(NumascapeError) as refusal:
        read_graph(tmp_path / name, 2)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("file", "text", "wrong"),
    [
        ("tasks.csv", "load,core\n1,0\n1,0.5\n", r"tasks\.csv, line 3: core 0\.5 is not a whole"),
        ("tasks.csv", "load,core\n1,1e300\n1,0\n", r"line 2: core 1e\+300 is not a whole number"),
        ("tasks.csv", "load,fixed\n1,-3\n1,0\n", r"line 2: fixed -3 is not .* from 0 to 1"),
        ("tasks.csv", "load,load\n1,1\n1,0\n", r"tasks\.csv has 2 columns named load"),
        ("messages.csv", "sender,receiver\n1e300,0\n", r"messages\.csv, line 2: sender"),
        ("messages.csv", "sender,receiver\n0,0.7\n", r"messages\.csv, line 2: receiver 0\.7"),
    ],
)
def test_tables_with_numbers_that_are_not_whole_are_refused(
    file: str, text: str, wrong: str, tmp_path: Path
) -> None:
    (tmp_path / "tasks.csv").write_text("load\n1\n1\n")
    (tmp_path / file).write_text(text)
    with pytest.raises(NumascapeError, match=wrong):
        read_graph(tmp_path, 2)


def test_a_file_that_decompresses_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("numascape.balance.formats.bounded.LARGEST_FILE", 1 << 20)
    (tmp_path / "data.0.json.br").write_bytes(brotli.compress(bytes(64 << 20), quality=1))
    with pytest.raises(NumascapeError, match="decompresses to more"):
        read_graph(tmp_path / "data.0.json.br", 2)
