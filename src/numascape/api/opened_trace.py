# SPDX-License-Identifier: Apache-2.0
"""An opened trace: its tables, and what can be computed from them. For scripts and notebooks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from numascape.analysis.run_description import describe_run
from numascape.figures.plots import Plots
from numascape.trace import Trace
from numascape.trace.files import table_path
from numascape.trace.phase import TraceOfPhase
from numascape.trace.selection import find_phase
from numascape.trace.summary import structure_summary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numascape.findings import Finding
    from numascape.machine import Machine
    from numascape.plan import Plan
    from numascape.prediction import Prediction
    from numascape.prediction.scenarios import PolicyName

# Modules are imported in the methods that need them: most users open a trace for its tables only.


class _Results(Trace):
    """Computes results from a trace, for the whole run or for one phase.

    A `machine` is a Machine, the name of one that `numascape machine show --list` prints, or the
    path of its description. None is the machine on which the run was recorded.
    """

    @property
    def plot(self) -> Plots:
        """The figures, for example `trace.plot.access("A")`."""
        return Plots(self)

    def summary(self) -> pl.DataFrame:
        """One row per structure, the most used first: its size, accesses, threads, first toucher.

        The columns are those of `numascape.trace.summary.structure_summary`.
        """
        return structure_summary(self)

    def scan(self, table: str) -> pl.LazyFrame:
        """The table of this name as a lazy frame, to read only the needed rows and columns."""
        return self.table(table).lazy()

    def findings(self, machine: Machine | str | os.PathLike[str] | None = None) -> list[Finding]:
        """The problems, their causes, and their fixes; largest gain first."""
        from numascape.analysis.source_files import readable_sources
        from numascape.findings import find

        return find(self, _opened(machine), readable_sources(self.info, None))

    def predict(
        self,
        machine: Machine | str | os.PathLike[str] | None = None,
        policies: Sequence[PolicyName] | None = None,
    ) -> list[Prediction]:
        """The predicted time of the run under memory policies; by default under all of them."""
        from numascape.prediction.layout import laid_out_places
        from numascape.prediction.scenarios import POLICY_NAMES, Scenarios

        target = _opened(machine) or self.info.machine
        threads = laid_out_places(self, target)
        names = POLICY_NAMES if policies is None else policies
        return Scenarios(self, target, threads, phases=self._phases()).predict(names)

    def plan(self, machine: Machine | str | os.PathLike[str] | None = None) -> Plan:
        """A plan for threads and pages: write it with `write_plan` of `numascape.plan.document`."""
        from numascape.placement.planning import make_plan

        return make_plan(self, _opened(machine) or self.info.machine)

    def report(
        self,
        path: str | os.PathLike[str],
        machine: Machine | str | os.PathLike[str] | None = None,
    ) -> Path:
        """Write the report as one HTML file, on `machine` if given; returns its path."""
        from numascape.report import draft, on_machine, readable_sources, render

        file, target = Path(path), _opened(machine)
        shown = self if target is None else on_machine(self, target)
        render(draft(shown, readable_sources(self.info, None)), file)
        return file

    def __repr__(self) -> str:
        """Return three lines: what ran, where and how long, and what was counted."""
        return "\n".join(describe_run(self)[:3])

    def _repr_html_(self) -> str:
        """Return the findings, the most used structures and their strips, for notebooks."""
        from numascape.api.notebook import trace_as_html

        return trace_as_html(self)

    def _phases(self) -> list[int] | None:
        return None


class OpenedTrace(_Results):
    """A recorded run: its tables as Polars data frames, and what can be computed from them.

    `numascape.open` returns it. The tables (`structures`, `threads`, `phases`, `accesses`,
    `first_touch`, `placement`, `source_lines`, `instances`, ...) have the columns of
    docs/trace-format.md.
    """

    def phase(self, wanted: str | int) -> OpenedPhase:
        """The same trace restricted to one phase, by name or number."""
        return OpenedPhase.of(self, find_phase(self, str(wanted)))

    def scan(self, table: str) -> pl.LazyFrame:
        """The table of this name as a lazy frame, to read only the needed rows and columns.

        Its values are checked when the table itself is read, for example `trace.accesses`.
        """
        if table not in self.info.tables:
            return self.table(table).lazy()
        return pl.scan_parquet(table_path(self.path, table))


class OpenedPhase(_Results, TraceOfPhase):
    """One phase of an opened trace, with the same tables and methods."""

    def __repr__(self) -> str:
        """Return three lines about the run, and one that names the phase."""
        return f"{super().__repr__()}\nonly phase {self.phases.item(self.phase, 'name')}"

    def _phases(self) -> list[int] | None:
        return [self.phase]


def _opened(machine: Machine | str | os.PathLike[str] | None) -> Machine | None:
    from numascape.machine import Machine, open_machine

    if machine is None or isinstance(machine, Machine):
        return machine
    return open_machine(os.fspath(machine))
