# SPDX-License-Identifier: Apache-2.0
"""Runs whose facts, findings, predictions and plans are compared with references.

A reference has the results of the time when it was made, without zeros and empty texts. It shows
that a number has changed, not that it is right. After a wanted change, run `python -m
synthetic.judged` in the folder tests, and read the difference.
"""

from __future__ import annotations

import dataclasses
import json
import math
import tempfile
from collections.abc import Callable, Iterator
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

import numascape
from numascape.analysis.facts import per_thread_pages, structure_facts
from numascape.analysis.line_transfers import by_structure, parts_of_lines, shared_lines_of_pages
from numascape.analysis.name_shares import name_shares
from numascape.analysis.remote import remote_accesses
from numascape.analysis.traffic import node_traffic
from numascape.errors import NumascapeError
from numascape.findings import Finding, examine, findings_of
from numascape.findings.groups import group_findings
from numascape.machine import open_machine
from numascape.trace import write_trace
from synthetic.judged_runs import RUNS
from synthetic.write import info_of

UNIT = Path(__file__).parents[1] / "unit"
Flat = dict[str, float | str]
MACHINE = "numa16"


@cache
def run(name: str) -> Any:
    """The trace, opened as users open it; its tables are read."""
    pattern = RUNS[name]()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.numascape"
        info = info_of(pattern.info())
        write_trace(path, pattern.tables(), info)
        trace = numascape.open(path)
        for table in trace.info.tables:
            trace.table(table)
    return trace


def facts(name: str) -> Flat:
    """Facts by structure; then sums of the run: by names, nodes, and transfers of lines."""
    trace = run(name)
    names = dict(trace.structures.select("structure", "name").iter_rows())
    found = structure_facts(
        per_thread_pages(trace.accesses, trace.phases.height), trace.first_touch
    )
    sums = {
        "(names)": vars(name_shares(trace)),
        "(remote)": _numbers(remote_accesses(trace)),
        "(traffic)": _numbers(node_traffic(trace, trace.accesses, ["phase"])),
        "(parts of lines)": {
            names[structure]: parts_of_lines(rows)
            for structure, rows in by_structure(_taken(trace))
        },
        "(shared lines)": _numbers(shared_lines_of_pages(_taken(trace))),
    }
    return _flat({names[structure]: one for structure, one in found.items()} | sums)


def _taken(trace: Any) -> pl.DataFrame:
    """The transfers of lines; no rows if the run has none."""
    taken: pl.DataFrame = trace.transfers
    return taken


def _numbers(table: pl.DataFrame) -> list[list[float]]:
    """The rows in a fixed order."""
    return [[float(number) for number in row] for row in table.sort(table.columns).rows()]


def findings(name: str) -> Flat:
    """Kinds, numbers and places, and the groups. Sentences are left out: they may be improved."""
    examined = examine(run(name), open_machine(MACHINE))
    there = findings_of(examined)
    groups = [
        {"kind": group.kind, "share": group.share, "gain": group.gain and group.gain.share}
        for group in group_findings(examined, there)
    ]
    found = {"here": run(name).findings(), MACHINE: there}
    return _flat(
        {where: [_judged(finding) for finding in some] for where, some in found.items()}
        | {"groups": groups}
    )


def _judged(finding: Finding) -> dict[str, Any]:
    sentences = ("why", "fixes", "evidence", "threads")
    return {
        **{key: value for key, value in vars(finding).items() if key not in sentences},
        "threads": ",".join(map(str, finding.threads)),
        "evidence": [evidence.value for evidence in finding.evidence],
        "remedies": [fix.remedy for fix in finding.fixes],
        "gains": [fix.gain for fix in finding.fixes],
    }


def predictions(name: str) -> Flat:
    return _flat(
        {
            found.label: {
                key: value
                for key, value in vars(found).items()
                if key in ("seconds", "low", "high", "relative", "extra_bytes", "limit")
            }
            | {
                "remote share": found.remote_share,
                "remote accesses": found.remote_accesses,
                "traffic": found.traffic.sum(axis=0).tolist(),
                "phases": [phase.seconds for phase in found.phases],
            }
            for found in run(name).predict(MACHINE)
        }
    )


def plans(name: str) -> Flat:
    return _flat({where: run(name).plan(where) for where in (MACHINE, "xeon-x7550")})


JUDGED: dict[str, Callable[[str], Flat]] = {
    "analysis": facts,
    "findings": findings,
    "prediction": predictions,
    "placement": plans,
}


def judged(package: str, name: str) -> Flat:
    """The present results for a run, or the fact that the package refuses the run."""
    try:
        return JUDGED[package](name)
    except NumascapeError:
        return {"refused": "yes"}


def differences(package: str, name: str) -> dict[str, tuple[Any, Any]]:
    """The present results and the reference, where they differ."""
    now = judged(package, name)
    then = _references(package)[name]
    return {
        path: (now.get(path, "nothing"), then.get(path, "nothing"))
        for path in sorted(now.keys() | then.keys())
        if not _alike(now.get(path, "nothing"), then.get(path, "nothing"))
    }


@cache
def _references(package: str) -> dict[str, Flat]:
    found: dict[str, Flat] = json.loads((UNIT / package / "reference.json").read_text())
    return found


def _alike(now: float | str, then: float | str) -> bool:
    """Sums of floating-point numbers depend on their order."""
    if isinstance(now, float) and isinstance(then, float):
        return math.isclose(now, then, rel_tol=1e-5, abs_tol=1e-12)
    return now == then


def _flat(value: Any) -> Flat:
    return dict(_leaves(value, ""))


def _leaves(value: Any, path: str) -> Iterator[tuple[str, float | str]]:
    if isinstance(value, Enum):
        yield path, value.value
    elif dataclasses.is_dataclass(value):
        yield from _leaves(vars(value), path)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, f"{path}/{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        numbers = value and all(isinstance(item, int) for item in value)
        if numbers:
            yield path, " ".join(map(str, value))
        else:
            for number, item in enumerate(value):
                yield from _leaves(item, f"{path}/{number}")
    elif isinstance(value, str):
        if value:
            yield path, value
    elif value is None:
        return
    elif value:
        yield path, float(f"{float(value):.7g}")


def main() -> None:
    for package in JUDGED:
        found = {name: judged(package, name) for name in RUNS}
        (UNIT / package / "reference.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
