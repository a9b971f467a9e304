# SPDX-License-Identifier: Apache-2.0
"""Damaged task graphs give a graph or one clear line, but no crash, unbounded memory or time."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from numascape.balance import Options, Problem, flat_target
from numascape.balance.formats import read_graph, write_graph
from numascape.balance.generators import lb_test
from numascape.errors import NumascapeError
from unit.balance.conftest import lbdump

ROUNDS = 150


def whole_files(folder: Path) -> list[Path]:
    write_graph(folder / "tasks.json", lb_test(12, 2))
    (folder / "traffic.csv").write_text("0,3,1\n2,0,5\n1,1,0\n")
    (folder / "three.graph").write_text("3 2 011\n5 2 7\n6 1 7 3 9\n8 2 9\n")
    (folder / "three.grf").write_text("0\n3 4\n1 011\n5 1 7 2\n6 2 7 1 9 3\n8 1 9 2\n")
    (folder / "data.0.json").write_text(
        '{"phases": [{"id": 0, "tasks": [{"entity": {"id": 1}, "node": 0, "time": 0.5}, '
        '{"entity": {"id": 2}, "node": 0, "time": 1}], "communications": [{"from": {"id": 1}, '
        '"to": {"id": 2}, "bytes": 8.0, "messages": 2}]}]}'
    )
    lbdump(folder / "new.lbdump", new=True)
    lbdump(folder / "old.lbdump", new=False)
    return sorted(folder.iterdir())


def damaged(content: bytes, chance: random.Random) -> bytes:
    out = bytearray(content)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(out)) if out else 0
        kind = chance.randrange(5)
        if kind == 0:
            del out[at:]
        elif kind == 1 and out:
            out[at] = chance.randrange(256)
        elif kind == 2 and out:
            out[at] = chance.choice(b"0123456789-.eN,\n {[")
        elif kind == 3:
            out[at:at] = chance.choice([b"9999999999", b"-1", b"1e308", b"\xff" * 8, b"\n"])
        else:
            out[at : at + 8] = chance.choice([b"\xff" * 8, b"\0" * 8, b""])
    return bytes(out)


@pytest.mark.parametrize("number", range(7))
def test_damaged_files(number: int, tmp_path: Path) -> None:
    original = whole_files(tmp_path)[number]
    content, chance = original.read_bytes(), random.Random(number)
    read_graph(original, 2)
    refusals = []
    for _ in range(ROUNDS):
        original.write_bytes(damaged(content, chance))
        try:
            graph = read_graph(original, 2)
            Problem(graph, flat_target(2, 1, 2.0)).run("numalb", Options(effort=0.01))
        except NumascapeError as error:
            refusals.append(str(error))
    assert 0 < len(refusals) < ROUNDS
    assert not any("\n" in refusal for refusal in refusals)
