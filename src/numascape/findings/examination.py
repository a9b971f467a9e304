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
from numascape.trace.counting import TraceOfTouches
from numascape.trace.teams import TraceOfTeams


def examine(
    trace: Trace,
    machine: Machine | None = None,
    files: SourceFiles | None = None,
    facts: Mapping[int, Facts] | None = None,
) -> Run:
    """Prepare a trace for diagnoses, on `machine` or the recorded one; with `facts`, if measured.

    If only first touches were recorded, they are used as accesses. Facts of single threads are
    measured again if successive teams of threads do the same work.
    """
    trace = TraceOfTeams.of(TraceOfTouches.of(trace))
    if facts is None or isinstance(trace, TraceOfTeams):
        pages = per_thread_pages(trace.accesses, trace.phases.height)
        facts = structure_facts(pages, trace.first_touch)
    chosen = machine or trace.info.machine
    return Run(trace, facts, Sources(files), chosen, nodes_of(trace, chosen))
