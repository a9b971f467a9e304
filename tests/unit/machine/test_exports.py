# SPDX-License-Identifier: Apache-2.0
"""Other programs read the exported files: lstopo, Scotch's own checker."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from numascape import NumascapeError
from numascape.cli.entry import run
from numascape.machine import open_machine, shipped_machines
from numascape.machine.export_hwloc import hwloc_xml
from numascape.machine.exports import matrix_csv, scotch_architecture
from numascape.machine.factors import bandwidths, latencies, numa_factors


def lstopo(file: Path, *options: str) -> str:
    if shutil.which("lstopo") is None:
        pytest.skip("lstopo is not installed")
    command = ["lstopo", "-i", str(file), *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("name", shipped_machines())
def test_an_exported_machine_reads_back(name: str, tmp_path: Path) -> None:
    machine = open_machine(name)
    file = tmp_path / "machine.xml"
    file.write_text(hwloc_xml(machine))
    again = open_machine(str(file))
    assert (again.nodes, again.packages) == (machine.nodes, machine.packages)
    assert (sorted(again.cores), again.caches) == (sorted(machine.cores), machine.caches)
    for of in (latencies, bandwidths):
        before, after = of(machine).values, of(again).values
        # hwloc's attributes are whole ns and MiB/s.
        assert [[value and round(value) for value in row] for row in before] == [
            [value and round(value) for value in row] for row in after
        ]


def test_dies_are_read_and_exported(tmp_path: Path) -> None:
    machine = open_machine("package:2 die:2 group:2 core:2 pu:1")
    kinds = [(groups.kind, len(groups.groups)) for groups in machine.groups]
    assert sorted(kinds) == [("die", 4), ("group", 8)]
    file = tmp_path / "machine.xml"
    file.write_text(hwloc_xml(machine))
    again = open_machine(str(file))
    assert sorted(g.groups for g in again.groups) == sorted(g.groups for g in machine.groups)


@pytest.mark.program
def test_lstopo_shows_latency_and_bandwidth(tmp_path: Path) -> None:
    file = tmp_path / "machine.xml"
    file.write_text(hwloc_xml(open_machine("xeon-6980p-snc3")))
    text = lstopo(file, "--memattrs")
    attributes = dict(re.findall(r"name `(\w+)' flags \d\n((?:  .*\n)*)", text))
    assert len(attributes["Latency"].splitlines()) == 6 * 6
    assert re.search(r"NUMANode L#3 = 394 from cpuset", attributes["Latency"])
    # 187911.4 MB/s
    assert re.search(r"NUMANode L#0 = 179206 from cpuset", attributes["Bandwidth"])


@pytest.mark.program
def test_memory_without_cpus_is_exported(tmp_path: Path) -> None:
    machine = open_machine("[numa(memory=1073741824)] pack:2 [numa] core:2 pu:1")
    file = tmp_path / "machine.xml"
    file.write_text(hwloc_xml(machine))
    assert len(lstopo(file, "--only", "numanode").splitlines()) == len(machine.nodes)
    assert open_machine(str(file)).nodes == machine.nodes


@pytest.mark.program
@pytest.mark.parametrize("name", ["numa16", "numa32", "epyc-9354p-nps4", "xeon-6980p-snc3"])
def test_scotch_accepts_the_architecture(name: str, tmp_path: Path) -> None:
    if shutil.which("atst") is None:
        pytest.skip("Scotch's atst is not installed")
    file = tmp_path / "machine.tgt"
    machine = open_machine(name)
    file.write_text(scotch_architecture(machine))
    result = subprocess.run(["atst", file], capture_output=True, text=True, check=True)
    assert f"nbr={len(machine.cores)}" in result.stdout


def test_scotch_s_distances_are_ten_times_the_factors() -> None:
    lines = scotch_architecture(open_machine("numa32")).splitlines()
    assert lines[:3] == ["deco", "0", "32\t63"]
    matrix = [line.split() for line in lines[3 + 32 :]]
    assert [len(row) for row in matrix] == list(range(1, 32))
    # Core 8 is the first of node 1.
    assert set(matrix[6]) == {"10"}
    assert matrix[7] == ["25"] * 8


def test_scotch_s_distances_by_level(capfd: pytest.CaptureFixture[str]) -> None:
    words = ["machine", "export", "-f", "scotch", "-m", "epyc-9354p-nps4", "--level-costs"]
    assert run([*words, "core=0,L3=1,node=3"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[2] == "32\t63"
    # Four cores share an L3 cache, eight a node.
    factors = numa_factors(open_machine("epyc-9354p-nps4")).values
    between = max(factors[0][1] or 0, factors[1][0] or 0)
    assert lines[3 + 32 + 7].split() == [str(round(30 * between))] * 8
    assert lines[3 + 32 + 6].split() == [*["30"] * 4, *["10"] * 3]
    assert run(["machine", "export", "-f", "csv", "-m", "numa32", "--level-costs", "0,1,2"]) == 2
    assert "--level-costs needs --format scotch" in capfd.readouterr().err


def test_a_matrix_as_csv() -> None:
    text = matrix_csv(open_machine("epyc-9354p-nps4"), "latency")
    assert text.splitlines()[:2] == ["node,0,1,2,3", "0,105.6,113.1,118.6,117.7"]


def test_what_is_not_known_is_not_exported() -> None:
    grace = open_machine("grace-cpu-superchip")
    with pytest.raises(NumascapeError, match=r"the latency of .* is unknown"):
        matrix_csv(grace, "latency")
    with pytest.raises(NumascapeError, match=r"between nodes 0 and 1 .* is unknown"):
        scotch_architecture(grace)
