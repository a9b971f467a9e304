# SPDX-License-Identifier: Apache-2.0
"""Findings about small programs with planted or absent causes are right and complete."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

import numascape
from integration.findings.labelled import (
    BLIND,
    Outcome,
    alternatives,
    as_labels,
    build,
    in_words_of,
    labels,
    opened_trace,
    outcomes,
    score,
    sources,
)
from numascape.analysis.source_files import readable_sources
from numascape.findings import Figure, Finding, Kind, examine, findings_of
from numascape.findings.gain import best_policy
from numascape.findings.thresholds import MIN_RELEVANT_GAIN
from numascape.machine import open_machine

GOOD = 0.95


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("labelled")


@pytest.fixture(scope="module")
def results(request: pytest.FixtureRequest, traces: Path) -> list[Outcome]:
    programs = request.config.cache.mkdir("labelled")
    build(programs)
    return outcomes(programs, traces)


def wrong(results: list[Outcome]) -> str:
    return "\n".join(
        f"{result.program}: missed {sorted(result.missed)}, wrong {sorted(result.wrong)}"
        for result in results
        if result.missed or result.wrong
    )


def test_programs_are_many_and_of_all_languages() -> None:
    assert len(sources()) >= 30
    assert {source.suffix for source in sources()} == {".c", ".cpp", ".f90"}
    assert all(labels(source) for source in sources())


def test_a_label_stands_alone_on_its_line(tmp_path: Path) -> None:
    for source in sources(BLIND):
        assert labels(source)
    joined = tmp_path / "joined.c"
    joined.write_text("// Sums up. label: a = partitioned\n// action: a = none\n")
    with pytest.raises(ValueError, match=r"joined\.c has a label that is not alone on its line"):
        labels(joined)


def test_a_minor_finding_counts_neither_as_right_nor_as_wrong() -> None:
    planted, minor = ("a", "partitioned"), ("b", "serial first touch")
    found = [frozenset({planted, minor}), frozenset({planted}), frozenset({planted, ("b", "x")})]
    right = {"b": frozenset({"local"})}
    results = [
        Outcome("p", frozenset({planted}), every, right, advised=right, minor=frozenset({minor}))
        for every in found
    ]
    assert [(s.right, s.wrong, s.missed, s.judged) for s in map(score, zip(results))] == [
        (1, 0, 0, 1),
        (1, 0, 0, 0),
        (1, 1, 0, 0),
    ]


def test_one_of_several_findings_is_right() -> None:
    planted = frozenset({("a", "partitioned | cache-resident"), ("b", "hot pages")})
    found = [
        frozenset({("a", "cache-resident")}),
        frozenset({("a", "cache-resident"), ("a", "partitioned")}),
        frozenset({("a", "hot pages"), ("b", "partitioned")}),
    ]
    results = [Outcome("p", planted, every, {"a": frozenset({"none"})}) for every in found]
    assert [(s.right, s.wrong, s.missed, s.judged) for s in map(score, zip(results))] == [
        (1, 0, 1, 1),
        (1, 0, 1, 1),
        (0, 2, 2, 0),
    ]


def test_a_structure_can_have_several_names(tmp_path: Path) -> None:
    source = tmp_path / "named.c"
    source.write_text(
        "// label: rows = partitioned\n// called: rows = table | ht.entries\n"
        "// called: a.x = s.x\n// called: b.x = s.x\n"
    )
    named = ["rows", "all.table", "p->table[3]", "ht.entries", "entries", "module::rows", "s%x"]
    findings = [
        Finding(Kind.PARTITIONED, 0, name, (), "", (), (), Figure.STRUCTURES, 1.0) for name in named
    ]
    assert [finding.name for finding in in_words_of(source, findings)] == [
        *["rows"] * 4,
        *["entries", "rows", "a.x", "b.x"],
    ]


def test_labels_name_findings() -> None:
    kinds = {kind.value for kind in Kind}
    used = {kind for source in sources() for _, kind in labels(source)}
    blind = {
        kind
        for source in sources(BLIND)
        for _, kind in alternatives(labels(source) | labels(source, "minor"))
    }
    assert used | blind <= kinds
    # Findings that need several nodes or a hundred structures cannot be planted here. They are in
    # tests/unit/findings/test_nodes.py. Findings about first touches alone are in
    # test_first_touches.py there, and those about few samples in test_samples.py.
    assert kinds - used == {
        Kind.ONE_NODE_SERVES_ALL.value,
        Kind.MIGRATED_THREADS.value,
        Kind.DISPLACED_PAGES.value,
        Kind.ONE_FIRST_TOUCHER.value,
        Kind.NO_SINGLE_CAUSE.value,
        Kind.TOO_FEW_SAMPLES.value,
    }


@pytest.mark.parametrize("held_back", [False, True])
def test_findings_are_right_and_complete(results: list[Outcome], held_back: bool) -> None:
    chosen = [result for result in results if result.held_back == held_back]
    reached = score(chosen)
    assert reached.precision >= GOOD, wrong(chosen)
    assert reached.recall >= GOOD, wrong(chosen)


@pytest.mark.parametrize("machine", ["numa16", "xeon-x7550", "xeon-6980p-snc3"])
def test_what_is_wrong_does_not_depend_on_the_machine(
    results: list[Outcome], traces: Path, machine: str
) -> None:
    """The gain of a finding may be zero on a machine; the finding itself stays true.

    The test takes all programs on one machine, and a third of them on the others. bench/findings
    takes all programs on four machines.
    """
    target = open_machine(machine)
    for result in results if machine == "numa16" else [r for r in results if r.held_back]:
        opened = opened_trace(traces / f"{result.program}.numascape")
        run = examine(opened, target, readable_sources(opened.info, None))
        found = findings_of(run)
        here = as_labels(found)
        conclusions = {("run", Kind.NO_PROBLEM.value), ("run", Kind.NO_SINGLE_CAUSE.value)}
        assert here - conclusions == result.found - conclusions, result.program
        gains = [f.gain.share for f in found if f.to_do and f.gain is not None]
        # Differences of less than a thousandth do not count.
        assert all(a >= b - 1e-3 for a, b in itertools.pairwise(gains)), result.program
        for finding in found:
            if finding.kind is Kind.NO_PROBLEM:
                best = best_policy(run)
                assert best is not None
                assert 1 - best.relative < MIN_RELEVANT_GAIN, result.program


def test_a_loop_whose_iterations_need_each_other_is_left_serial(
    results: list[Outcome], traces: Path
) -> None:
    assert any(result.program == "carried_init.c" for result in results)
    opened = numascape.open(traces / "carried_init.c.numascape")
    (finding,) = opened.findings()
    assert finding.advice[0].startswith(
        "The loop at carried_init.c:13 cannot run in parallel as it is: it reads `A[i - 1]`, which "
        "another iteration writes. Touch the pages before it, right after the allocation at "
        "carried_init.c:11, in a parallel loop of their own: "
    )
    assert "for (size_t i = 0; i < 1048576; i += 4096) ((char *)A)[i] = 0;" in finding.advice[0]
