# SPDX-License-Identifier: Apache-2.0
"""A run on another machine: the nodes on which its threads would run and its pages would be."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from numascape.machine.description import Machine
from numascape.prediction.layout import laid_out_places
from numascape.prediction.policies import first_touch
from numascape.trace import Trace
from numascape.trace.derived import DerivedTrace


@dataclass(frozen=True)
class TraceLaidOut(DerivedTrace):
    """The trace `whole` on the machine of `info`.

    Threads are assigned to its CPUs in the order of their creation. Each page is on the node of its
    first toucher or, if this is full, on the next node.
    """

    @cached_property
    def threads(self) -> pl.DataFrame:
        """The threads, each on its node; their CPUs are not known."""
        nodes = laid_out_places(self.whole, self.info.machine)
        kinds = self.whole.threads.schema
        return self.whole.threads.with_columns(
            nodes=pl.Series([[int(node)] for node in nodes], dtype=kinds["nodes"]),
            cpus=pl.Series([[] for _ in nodes], dtype=kinds["cpus"]),
        )

    @cached_property
    def placement(self) -> pl.DataFrame:
        """For each page, its node."""
        nodes = laid_out_places(self.whole, self.info.machine)
        pages = first_touch(self.whole, self.info.machine, nodes).filter(pl.col("share") == 1.0)
        return pages.select(self.whole.placement.columns).cast(self.whole.placement.schema)


def lay_out_trace(trace: Trace, machine: Machine) -> TraceLaidOut:
    """The trace as if it had run on `machine`, which has other nodes than the recorded one."""
    info = dataclasses.replace(trace.info, machine=machine)
    return TraceLaidOut(trace.path, info, whole=trace)


def recorded_and_machine(trace: Trace) -> tuple[Trace, Machine | None]:
    """The recorded trace, and the other machine on which it is laid out, if it is."""
    if isinstance(trace, TraceLaidOut):
        return trace.whole, trace.info.machine
    return trace, None


def describe_layout(recorded: Trace, machine: Machine | None) -> str:
    """Sentences about what the page assumes of another machine; empty for the recorded one."""
    if machine is None:
        return ""
    return (
        f"Recorded on {recorded.info.machine.name}, shown as on {machine.name}: threads are "
        "assigned to its CPUs in the order of their creation, and pages are on the nodes of their "
        "first touchers. Gains and traffic are predictions."
    )
