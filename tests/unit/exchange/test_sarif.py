# SPDX-License-Identifier: Apache-2.0
"""Findings as SARIF: one result for each that has a fix, at its line."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from numascape.exchange.sarif import sarif_log
from numascape.findings import Kind, Place, examine, findings_of
from numascape.machine.sources import open_machine
from numascape.trace import Trace
from synthetic.heat import heat
from synthetic.write import write_pattern

Numascape = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return write_pattern(heat(), tmp_path_factory.mktemp("heat") / "heat.numascape")


def test_a_finding_is_at_its_line(trace: Trace) -> None:
    found = findings_of(examine(trace, open_machine("numa16"), None))
    log: dict[str, Any] = sarif_log(trace, found, Path("/home/ada"))
    (run,) = log["runs"]
    results = run["results"]
    assert len(results) == sum(finding.to_do for finding in found) > 0
    rules = run["tool"]["driver"]["rules"]
    assert [rule["shortDescription"]["text"] for rule in rules] == [kind.value for kind in Kind]
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in results)
    first = results[0]
    assert first["ruleId"] == "numa/serial-first-touch"
    assert "Fix: " in first["message"]["text"]
    (location,) = first["locations"]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == "heat.c"
    assert location["physicalLocation"]["region"]["startLine"] in {3, 4}


@pytest.mark.parametrize(
    ("folder", "artifact"),
    [
        ("/home/ada", {"uri": "heat%20code/heat.c", "uriBaseId": "SRCROOT"}),
        ("/home/eve", {"uri": "file:///home/ada/heat%20code/heat.c"}),
    ],
)
def test_files_are_named_from_the_root_of_the_sources(
    trace: Trace, folder: str, artifact: dict[str, str]
) -> None:
    found = findings_of(examine(trace, None, None))
    place = Place("fill", "/home/ada/x/../heat code/heat.c", 4)
    log: dict[str, Any] = sarif_log(trace, [replace(found[0], place=place)], Path(folder))
    (location,) = log["runs"][0]["results"][0]["locations"]
    assert location["physicalLocation"]["artifactLocation"] == artifact


def test_advise_writes_it(numascape: Numascape, trace: Trace, tmp_path: Path) -> None:
    file = tmp_path / "log.sarif"
    status, out, err = numascape("advise", trace.path, "--machine", "numa16", "--sarif", file)
    assert (status, err) == (0, f"numascape: wrote {file}\n")
    assert "serial first touch" in out
    log = json.loads(file.read_text())
    assert log["version"] == "2.1.0"
    assert numascape("advise", trace.path, "--sarif", tmp_path / "absent/log")[0] == 2
