# SPDX-License-Identifier: Apache-2.0
"""Computes from a trace what all diagnoses read."""

from __future__ import annotations

from collections.abc import Mapping

from numascape.analysis.facts import Facts, per_thread_pages, structure_facts
from numascape.analysis.source_files import SourceFiles
from numascape.findings.nodes import nodes_of
from numascape.findings.sources import Sources
from numascape.findings.subject import Run
from numascape.machine.description import Machine
from numascape.trace import Trace
from numascape.trace.counting import TraceOfTouches, misses_touches
from numascape.trace.teams import TraceOfTeams
from numascape.trace.with_kernel import TraceWithKernel


def examine(
    trace: Trace,
    machine: Machine | None = None,
    files: SourceFiles | None = None,
    facts: Mapping[int, Facts] | None = None,
) -> Run:
    """Prepare a trace for diagnoses, on `machine` or the recorded one; with `facts`, if measured.

    If only first touches were recorded, they are used as accesses. What system calls read and
    write for a thread counts as accesses of this thread. `facts` are measured again if there are
    such accesses, or if successive teams of threads do the same work.
    """
    trace = TraceOfTeams.of(TraceWithKernel.of(TraceOfTouches.of(trace)))
    if facts is None or isinstance(trace, (TraceOfTeams, TraceWithKernel)):
        pages = per_thread_pages(trace.accesses, trace.phases.height)
        facts = structure_facts(pages, trace.first_touch, of_known=misses_touches(trace))
    chosen = machine or trace.info.machine
    return Run(trace, facts, Sources(files), chosen, nodes_of(trace, chosen))
