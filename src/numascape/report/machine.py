# SPDX-License-Identifier: Apache-2.0
"""The machine for the report: its nodes, and the NUMA factors between them."""

from __future__ import annotations

import dataclasses
from typing import Any

from numascape.machine.description import Machine, same_nodes
from numascape.machine.factors import latencies, numa_factors
from numascape.machine.wording import provenance_text
from numascape.report.laid_out import lay_out_trace
from numascape.trace import Trace
from numascape.trace.derived import DerivedTrace


def on_machine(trace: Trace, described: Machine) -> Trace:
    """The trace with another description of the recorded machine, or laid out on another machine.

    A machine with the same nodes has threads and pages where they were recorded, as in
    the predictions.
    """
    if not same_nodes(trace.info.machine, described):
        return lay_out_trace(trace, described)
    if trace.info.machine == described:
        return trace
    info = dataclasses.replace(trace.info, machine=described)
    return DerivedTrace(trace.path, info, whole=trace)


def shown_machine(machine: Machine) -> dict[str, Any]:
    """Name and nodes; if known, NUMA factors, latencies in ns, and their sources.

    Rows are nodes of threads, columns are nodes of pages, both in the order of the nodes; None is
    an unknown value.
    """
    shown: dict[str, Any] = {
        "name": machine.name,
        "nodes": [
            {"node": node.node, "cpus": list(node.cpus), "memory_bytes": node.memory_bytes}
            for node in machine.nodes
        ],
    }
    factors, reading = numa_factors(machine), latencies(machine)
    size = range(len(machine.nodes))
    if any(factors.values[i][j] is not None for i in size for j in size if i != j):
        pairs = [factors.provenance[i][j] for i in size for j in size if i != j]
        sources = dict.fromkeys(provenance_text(found) for found in pairs if found)
        shown["distance"] = {
            "factors": [list(row) for row in factors.values],
            "latencies": [list(row) for row in reading.values],
            "sources": list(sources),
        }
    return shown
