# SPDX-License-Identifier: Apache-2.0
"""Findings about small programs with planted or absent causes are right and complete."""

from __future__ import annotations

import pytest

from integration.findings.labelled import Outcome, build, labels, outcomes, score, sources
from numascape.findings import Kind

GOOD = 0.95


@pytest.fixture(scope="module")
def results(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> list[Outcome]:
    programs = request.config.cache.mkdir("labelled")
    build(programs)
    return outcomes(programs, tmp_path_factory.mktemp("labelled"))


def wrong(results: list[Outcome]) -> str:
    return "\n".join(
        f"{result.program}: missed {sorted(result.planted - result.found)}, "
        f"wrong {sorted(result.found - result.planted)}"
        for result in results
        if result.planted != result.found
    )


def test_programs_are_many_and_of_all_languages() -> None:
    assert len(sources()) >= 30
    assert {source.suffix for source in sources()} == {".c", ".cpp", ".f90"}
    assert all(labels(source) for source in sources())


def test_labels_name_findings() -> None:
    kinds = {kind.value for kind in Kind}
    used = {kind for source in sources() for _, kind in labels(source)}
    assert used <= kinds
    # What needs several nodes cannot be planted here: tests/unit/findings/test_nodes.py does. What
    # is found of first touches alone, test_first_touches.py there.
    assert kinds - used == {
        Kind.ONE_NODE_SERVES_ALL.value,
        Kind.MIGRATED_THREADS.value,
        Kind.DISPLACED_PAGES.value,
        Kind.ONE_FIRST_TOUCHER.value,
    }


@pytest.mark.parametrize("held_back", [False, True])
def test_findings_are_right_and_complete(results: list[Outcome], held_back: bool) -> None:
    chosen = [result for result in results if result.held_back == held_back]
    reached = score(chosen)
    assert reached.precision >= GOOD, wrong(chosen)
    assert reached.recall >= GOOD, wrong(chosen)
