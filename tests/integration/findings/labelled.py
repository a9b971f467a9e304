# SPDX-License-Identifier: Apache-2.0
"""The labelled programs: their planted findings, the actual findings, and their agreement.

A label is a line `// label: STRUCTURE = FINDING` in a program's source (`run` stands for the run as
a whole; `!` and `#` begin comments too). A program's labels are complete: a finding that is not
among them is wrong.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zlib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numascape
from integration.loaded_command import run_loaded
from numascape.analysis.source_files import readable_sources
from numascape.findings import Finding, find
from numascape.machine import Machine
from numascape.naming.destination import without_subscripts

PROGRAMS = Path(__file__).parent / "programs"
BLIND = Path(__file__).parent / "blind"
THREADS = 4
_LABEL = re.compile(r"^\s*(?://|!|#) label: (.+?) = (.+?)\s*$", re.MULTILINE)

Label = tuple[str, str]


@dataclass(frozen=True)
class Outcome:
    """The planted and the actual findings of a program: pairs of structure and finding."""

    program: str
    planted: frozenset[Label]
    found: frozenset[Label]

    @property
    def held_back(self) -> bool:
        """Whether the program was not used to choose thresholds: a third of them."""
        return zlib.crc32(self.program.encode()) % 3 == 0


@dataclass(frozen=True)
class Score:
    """How many findings were right, wrong, and missed."""

    right: int
    wrong: int
    missed: int

    @property
    def precision(self) -> float:
        """Of what was found, the share that was planted."""
        return self.right / max(1, self.right + self.wrong)

    @property
    def recall(self) -> float:
        """Of what was planted, the share that was found."""
        return self.right / max(1, self.right + self.missed)


def sources(folder: Path = PROGRAMS) -> list[Path]:
    return sorted(p for p in folder.iterdir() if p.suffix in (".c", ".cpp", ".f90", ".py"))


def labels(source: Path) -> frozenset[Label]:
    return frozenset((_plain(name), kind) for name, kind in _LABEL.findall(source.read_text()))


def _plain(name: str) -> str:
    """The structure's name in one spelling: an element is its array, and `->` is a dot."""
    return without_subscripts(name).replace("->", ".")


def build(folder: Path, programs: Path = PROGRAMS) -> None:
    """Build all programs into `folder`, two at a time."""
    environment = {k: v for k, v in os.environ.items() if k not in {"MAKEFLAGS", "MFLAGS"}}
    command = ["make", "-s", "-j2", "-C", str(programs), f"BUILD={folder}"]
    subprocess.run(command, check=True, env=environment, capture_output=True, text=True)


def record(source: Path, programs: Path, traces: Path) -> Path:
    """Record the program of a source once; use its trace in `traces` if there is one."""
    trace = traces / f"{source.name}.numascape"
    if not trace.exists():
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": str(THREADS),
            "OMP_DYNAMIC": "false",
            "OMP_WAIT_POLICY": "passive",
        }
        built = [programs / f"{source.name}.out"]
        program = [Path(sys.executable), source] if source.suffix == ".py" else built
        done = run_loaded(["record", "-q", "-o", trace, "--", *program], environment)
        if done.returncode != 0:
            raise RuntimeError(f"{source.name} was not recorded: {done.stderr}")
    return trace


def found_in(trace: Path, machine: Machine | None = None) -> frozenset[Label]:
    opened = numascape.open(trace)
    return as_labels(find(opened, machine, readable_sources(opened.info, None)))


def as_labels(findings: Iterable[Finding]) -> frozenset[Label]:
    return frozenset(
        ("run" if finding.structure is None else _plain(finding.name), finding.kind.value)
        for finding in findings
    )


def outcomes(
    programs: Path, traces: Path, machine: Machine | None = None, folder: Path = PROGRAMS
) -> list[Outcome]:
    """Record every program and look for findings, for `machine` if given, two at a time.

    `folder` has the sources, `programs` what was built from them.
    """

    def outcome(source: Path) -> Outcome:
        found = found_in(record(source, programs, traces), machine)
        return Outcome(source.name, labels(source), found)

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(outcome, sources(folder)))


def score(results: Iterable[Outcome]) -> Score:
    right = wrong = missed = 0
    for result in results:
        right += len(result.planted & result.found)
        wrong += len(result.found - result.planted)
        missed += len(result.planted - result.found)
    return Score(right, wrong, missed)
