# SPDX-License-Identifier: Apache-2.0
"""What the source shows of code beside the divided loop of a parallel region."""

from __future__ import annotations

from numascape.findings.finding import Place
from numascape.findings.sources import Schedule
from unit.findings.conftest import Written


def test_a_loop_after_the_divided_one_is_not_divided(written: Written) -> None:
    sources, file = written(
        "void rank(void) {\n"
        "#pragma omp for nowait\n"
        "  for (int i = 0; i < n; i++) {\n"
        "    own[keys[i]]++;\n"
        "  }\n"
        "#pragma omp critical\n"
        "  for (int i = 0; i < m; i++) all[i] += own[i];\n"
        "}\n"
    )
    assert sources.schedule(Place("f", file, 4)) == Schedule(Place("f", file, 2), "", "")
    assert sources.schedule(Place("f", file, 7)) is None


def test_a_region_without_loops_has_tasks_only_if_the_program_has(written: Written) -> None:
    sources, file = written("#pragma omp parallel\n#pragma omp master\nprint();\nrank();\n")
    assert sources.deals_out_tasks(Place("f", file, 1), in_calls=True)
    assert not sources.deals_out_tasks(Place("f", file, 1), in_calls=False)
    assert not sources.has_tasks(file)
    assert not sources.has_tasks("")
    sources, file = written("void rank(void) {\n  #pragma omp task\n  sort();\n}\n")
    assert sources.has_tasks(file)
