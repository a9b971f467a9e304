# SPDX-License-Identifier: Apache-2.0
"""Documents of machines: written and read, shipped, described in docs/."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from numascape import NumascapeError
from numascape.machine import (
    Machine,
    MachineNode,
    Matrix,
    Provenance,
    numa_factors,
    open_machine,
    read_machine,
    shipped_machines,
    write_machine,
)
from quality.external import ROOT

MEASURED = Provenance("measured", "a test", "2026-11-21")
TWO = Machine(
    "two nodes and memory",
    (MachineNode(0, (0, 1), 1 << 30), MachineNode(3, (2,), 1 << 30), MachineNode(4, (), 1, "HBM")),
    packages=((0, 1, 2),),
    distances=Matrix(((10, 20, 30), (20, 10, 30), (30, 30, 10)), Provenance("slit")),
    latencies=(Matrix(((80.0, 120.0, None), (130.0, 100.0, None), (None, None, None)), MEASURED),),
)


def test_a_document_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_machine(TWO, tmp_path / "two.json")
    assert read_machine(tmp_path / "two.json") == TWO
    assert open_machine(str(tmp_path / "two.json")) == TWO


@pytest.mark.parametrize("name", shipped_machines())
def test_shipped_machines_say_where_every_figure_is_from(name: str, tmp_path: Path) -> None:
    machine = open_machine(name)
    assert machine.provenance is not None
    known = [
        *(matrix.provenance for matrix in machine.latencies),
        *(matrix.provenance for matrix in machine.bandwidths),
        *(matrix.provenance for matrix in machine.factors),
        *(curve.provenance for curve in machine.loaded_latency),
        *(curve.provenance for curve in machine.scaling),
        *(controllers.provenance for controllers in machine.controllers),
    ]
    for provenance in (machine.provenance, *known):
        assert provenance.kind in {"published", "assumed"}
        assert len(provenance.source) > 20
    write_machine(machine, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (ROOT / f"machines/{name}.json").read_bytes()


@pytest.mark.parametrize("name", shipped_machines())
def test_assumed_factors_are_noted(name: str) -> None:
    machine = open_machine(name)
    kinds = {matrix.provenance.kind for matrix in machine.factors}
    if "assumed" in kinds and not machine.latencies:
        assert any("assumed" in note for note in machine.notes), machine.notes
    if machine.provenance is not None and machine.provenance.kind == "assumed":
        assert machine.notes


def test_which_machines_are_shipped() -> None:
    sizes = {name: (len(m.nodes), len(m.cores)) for name in shipped_machines()
             for m in [open_machine(name)]}  # fmt: skip
    expected = {"xeon-x7550": (4, 32), "opteron-6174": (8, 48), "numa16": (8, 16),
                "numa32": (4, 32), "epyc-9354p-nps4": (4, 32), "xeon-6980p-snc3": (6, 256),
                "grace-cpu-superchip": (2, 144), "epyc-9274f-2s": (2, 48), "epyc-9375f-2s": (2, 64),
                "xeon-sapphire-rapids-2s": (2, 104), "xeon-max-9470-flat": (4, 104),
                "mi300a-4": (4, 96), "gh200": (9, 72), "ampere-altra-q80-2s": (2, 160),
                "xeon-2s-cxl": (3, 104), "xeon-4216-2s": (2, 32),
                "xeon-6130-4s": (4, 64)}  # fmt: skip
    assert sizes == expected


def test_factors_prefer_what_is_known_best() -> None:
    factors = numa_factors(TWO)
    # Measured between nodes 0 to 3; from SLIT to the memory-only node; no value from that node.
    assert factors.values == ((1.0, 1.5, 3.0), (1.3, 1.0, 3.0), (None, None, None))
    kinds = [[cell.kind if cell else None for cell in row] for row in factors.provenance]
    assert kinds == [["measured"] * 2 + ["slit"]] * 2 + [[None] * 3]
    assert [source.kind for source in factors.sources()] == ["measured", "slit"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"nodes": ()}, "nodes: Field required"),
        ({"nodes": (TWO.nodes[0], TWO.nodes[0])}, "same number"),
        ({"nodes": (TWO.nodes[0], MachineNode(1, (0,), 1))}, "a CPU is on two nodes"),
        ({"packages": ((9,),)}, "packages name CPU 9"),
        ({"distances": Matrix(((10,),), Provenance("slit"))}, "not 3 x 3"),
        ({"latencies": (Matrix(((1.0,) * 3,) * 2, MEASURED),)}, "not 3 x 3"),
    ],
)
def test_contradictions_are_refused(change: dict[str, object], reason: str, tmp_path: Path) -> None:
    write_machine(dataclasses.replace(TWO, **change), tmp_path / "bad.json")  # type: ignore[arg-type]
    with pytest.raises(NumascapeError, match=reason):
        read_machine(tmp_path / "bad.json")


@pytest.mark.parametrize("value", [-1, 0, "80", 1e400])
def test_figures_that_cannot_be_are_refused(value: object, tmp_path: Path) -> None:
    write_machine(TWO, tmp_path / "bad.json")
    content = json.loads((tmp_path / "bad.json").read_text())
    content["latencies"][0]["values"][0][0] = value
    (tmp_path / "bad.json").write_text(json.dumps(content))
    with pytest.raises(NumascapeError, match=r"not a valid machine: latencies\.0\.values\.0\.0"):
        read_machine(tmp_path / "bad.json")


def test_the_schema_in_the_documents_is_the_one_that_is_read() -> None:
    """If this fails, write the expected text to docs/machine.schema.json."""
    schema = TypeAdapter(Machine).json_schema()
    schema["title"] = "numascape machine, version 1"
    schema["properties"] = {
        "format": {"const": "numascape machine"},
        "version": {"const": 1},
        **schema["properties"],
    }
    schema["required"] = ["format", "version", *schema["required"]]
    assert json.loads((ROOT / "docs/machine.schema.json").read_text()) == json.loads(
        json.dumps(schema)
    )
