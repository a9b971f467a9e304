# SPDX-License-Identifier: Apache-2.0
"""Each of several conditions alone changes the result."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

from numascape.analysis.source_files import SourceFiles
from numascape.findings import Kind, findings_of
from numascape.findings.diagnoses import cache_resident, shared_written
from numascape.findings.pattern import Pattern as Use
from numascape.findings.run_facts import RunFacts
from numascape.findings.sources import Sources
from synthetic.pattern import Pattern
from unit.findings.line_cases import used_by_all
from unit.findings.run_cases import cached, region, run_of, subject_of


@pytest.mark.parametrize(
    ("phase", "structure", "openmp"),
    [
        ("solve, parallel region at heat.c:7", "A", True),
        ("run", "OpenMP runtime", True),
        ("run", "A", False),
    ],
)
def test_regions_or_the_runtime_show_openmp(phase: str, structure: str, openmp: bool) -> None:
    trace = SimpleNamespace(
        phases=pl.DataFrame({"name": ["run", phase]}),
        structures=pl.DataFrame({"name": ["B", structure]}),
    )
    assert cast(Any, RunFacts.openmp).func(SimpleNamespace(trace=trace)) is openmp


@pytest.mark.parametrize(("kind", "told"), [("real(8)", True), ("type(csr)", False)])
def test_descriptors_of_arrays_are_not_told_to_stay_in_caches(
    tmp_path: Path, kind: str, told: bool
) -> None:
    source = tmp_path / "cg.f90"
    source.write_text(f"type csr\nreal(8), allocatable :: val(:)\nend type\n{kind} :: a(10)\n")
    pattern = Pattern("several", 4)
    cached(pattern, 10, 100)
    pattern.structures[0].update(file=str(source), line=4)
    subject = subject_of(run_of(pattern))
    sources = Sources(SourceFiles(True, source.stat().st_mtime + 1))
    run = replace(subject.run, sources=sources)
    assert (cache_resident.diagnose(replace(subject, run=run)) is not None) is told


def test_only_what_several_threads_use_is_told_to_stay_in_caches() -> None:
    several, one = Pattern("several", 4), Pattern("one", 2)
    cached(several, 10, 100)
    assert cache_resident.diagnose(subject_of(run_of(several))) is not None
    large = Pattern("large", 4)
    cached(large, 400, 100)
    assert cache_resident.diagnose(subject_of(run_of(large))) is None
    s = one.structure("A", 10)
    one.access(s, np.arange(10), 0, 51_200, 0)
    one.touch(s, np.arange(10), 1)
    subject = subject_of(run_of(one))
    assert subject.pattern is Use.ONE_THREAD
    assert cache_resident.is_cache_resident(subject)
    assert cache_resident.diagnose(subject) is None


@pytest.mark.parametrize("known", ["nothing", "transfers", "samples"])
def test_traffic_is_advised_only_where_lines_are_not_known(known: str) -> None:
    pattern, s = used_by_all(64, 4)
    if known == "transfers":
        pattern.take_lines(s, 0, (0, 1), (1, 1, 1))
    if known == "samples":
        for page in range(64):
            for thread in range(4):
                pattern.see(s, page, thread, 1 << (page + 7 * thread) % 64)
    found = shared_written.diagnose(subject_of(run_of(pattern)))
    assert found is not None
    assert any("--traffic" in fix.text for fix in found.fixes) == (known == "nothing")


def test_lines_are_compared_in_each_phase_by_itself_and_in_all() -> None:
    """Two threads use the same line of each page, but not in the same phase."""
    pattern = Pattern("halves", 2)
    phases = [region(pattern, name, line) for line, name in enumerate(("first", "second"), 3)]
    page = np.arange(64)
    s = pattern.structure("A", 64)
    for thread, phase in enumerate(phases):
        for other in (0, 1):
            pattern.access(s, page, other, 40_000, 0, phase=phase)
        for number in range(64):
            pattern.see(s, number, thread, 1, phase=phase)
    pattern.touch(s, page, page // 32, phase=phases[0])
    subject = subject_of(run_of(pattern))
    assert subject.seen.overlap.seen > 0
    assert subject.seen.overlap_in_phases.seen == 0


@pytest.mark.parametrize(("name", "said"), [("A", False), ("B", True)])
def test_blocks_that_one_thread_had_before_a_structure_grew_are_not_said(
    name: str, said: bool
) -> None:
    """Thread 0 fills A, of which the others use a part each; before, it had other blocks."""
    pattern = Pattern("grown", 5)
    page = np.arange(256)
    last, earlier = pattern.structure("A", 256), pattern.structure(name, 256)
    pattern.access(last, page, 1 + page // 64, 10_000, 0)
    pattern.access(earlier, page, 0, 5000, 5000)
    for s in (last, earlier):
        pattern.touch(s, page, 0)
    kinds = {finding.structure: finding.kind for finding in findings_of(run_of(pattern))}
    assert kinds.pop(last) is Kind.SERIAL_FIRST_TOUCH
    assert kinds == ({earlier: Kind.PARTITIONED} if said else {})
