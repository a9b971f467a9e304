# SPDX-License-Identifier: Apache-2.0
"""`numascape pages` calls anonymous memory like the only global variable that points to it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from integration.attaching import wait_for

PROGRAM = Path(__file__).parent / "programs/pointed.c"
PAGE = 4096
Numascape = Callable[..., tuple[int, str, str]]


@dataclass(frozen=True)
class Pointing:
    pid: int
    areas: dict[str, tuple[int, int]]


@pytest.fixture
def pointing(tmp_path: Path) -> Iterator[Pointing]:
    program = tmp_path / "pointed"
    subprocess.run(["gcc", "-g", "-O1", PROGRAM, "-o", program], check=True)
    with subprocess.Popen(
        [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        areas: dict[str, tuple[int, int]] = {}
        while len(areas) < 5:
            name, start, length = running.stdout.readline().split()
            areas[name] = (int(start, 16), int(length))
        yield Pointing(running.pid, areas)
        running.communicate()


def resident(pid: int) -> int:
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Rss:"))


def test_memory_has_the_name_of_its_pointer(numascape: Numascape, pointing: Pointing) -> None:
    # It waits for input, and touches nothing more.
    wait_for(lambda: "State:\tS" in Path(f"/proc/{pointing.pid}/status").read_text())
    before = resident(pointing.pid)
    status, output, _ = numascape("pages", "--json", "--pid", pointing.pid)
    assert status == 0
    assert resident(pointing.pid) == before
    (process,) = json.loads(output)["processes"]
    parts = {
        part["name"]: (int(part["start"], 16), part["bytes"])
        for mapping in process["mappings"]
        for part in mapping["parts"]
    }
    for name, (start, length) in pointing.areas.items():
        found, size = parts[name]
        assert found <= start < found + PAGE + (1 << 20), name
        assert start + length <= found + size < start + length + (1 << 20) + 2 * PAGE, name
    # These are mappings, and no blocks of malloc.
    for name in ("grid", "joined"):
        assert parts[name] == pointing.areas[name]
    sources = {item["name"]: item["source"] for item in process["structures"]}
    assert sources["grid"].endswith("pointed.c:15")
    wrong = {"one_name", "other_name", "number", "state", "middle", "text", "late"}
    assert not wrong & set(parts)
    assert any(name.startswith("mapping at 0x") for name in parts)
