# SPDX-License-Identifier: Apache-2.0
"""The Python interface of a trace; the documents' examples run unchanged."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields, replace
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt

import numascape
from numascape.plan.document import read_plan, write_plan
from numascape.recording.options import RecordOptions
from numascape.trace.summary import structure_summary
from synthetic.heat import heat
from synthetic.patterns import seismic
from synthetic.write import write_pattern


@pytest.fixture(scope="module")
def stencil(tmp_path_factory: pytest.TempPathFactory) -> numascape.OpenedTrace:
    path = tmp_path_factory.mktemp("api") / "run.numascape"
    write_pattern(seismic(640, 8), path)
    return numascape.open(path)


def test_a_trace_says_in_three_lines_what_ran(stencil: numascape.OpenedTrace) -> None:
    lines = repr(stencil).splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("run.numascape: ")
    assert "threads made" in lines[2]


def test_a_summary_has_a_row_for_each_structure(stencil: numascape.OpenedTrace) -> None:
    assert stencil.summary().equals(structure_summary(stencil))


def test_a_lazy_table_has_the_same_rows(stencil: numascape.OpenedTrace) -> None:
    for table in ("structures", "accesses", "instances"):
        assert stencil.scan(table).collect().equals(stencil.table(table)), table


def test_findings_predictions_and_plans_are_for_the_machine(stencil: numascape.OpenedTrace) -> None:
    found = stencil.findings("numa16")
    assert found[0].gain is not None
    assert found[0].gain.machine.startswith("NUMA16")
    predicted = stencil.predict("numa16", ["observed", "interleave"])
    assert [one.label for one in predicted] == ["observed", "interleave"]
    assert repr(predicted[0]).startswith("<observed: predicted 1.000 times the reference (1.000 ")
    assert "\n" not in repr(predicted[0])
    assert stencil.plan("numa16").structures


def test_findings_and_plans_are_shown_in_one_line(
    stencil: numascape.OpenedTrace, tmp_path: Path
) -> None:
    (first, *_) = stencil.findings("numa16")
    assert re.fullmatch(
        rf"<serial first touch of {re.escape(first.name)}: \d+ % of the run time saved, predicted; "
        r"confidence (> )?\d+ %>",
        repr(first),
    )
    assert " accesses could become local; " in repr(replace(first, fixes=()))
    assert repr(stencil.findings()[0]).startswith("<no NUMA problem: no action needed; ")
    plan = stencil.plan("numa16")
    assert re.fullmatch(r"<plan for .* on NUMA16.*: \d+ rules for threads, \d+ for structures>",
                        repr(plan))  # fmt: skip
    write_plan(plan, str(tmp_path / "plan.toml"))
    assert read_plan(tmp_path / "plan.toml") == plan


def test_tab_offers_only_names(stencil: numascape.OpenedTrace) -> None:
    assert [name for name in dir(stencil) if "." in name and not name.startswith("_")] == []


def test_a_phase_has_the_same_tables_and_methods(tmp_path: Path) -> None:
    write_pattern(heat(), tmp_path / "heat.numascape")
    trace = numascape.open(tmp_path / "heat.numascape")
    sweep = trace.phase("sweep")
    number = trace.phases.filter(trace.phases["name"] == "sweep")["phase"].item()
    assert sweep.accesses.height == (trace.accesses["phase"] == number).sum() > 0
    assert sweep.scan("accesses").collect().equals(sweep.accesses)
    assert sweep.summary()["writes"].sum() < trace.summary()["writes"].sum()
    assert repr(sweep).endswith("only phase sweep")


def test_a_report_is_written(stencil: numascape.OpenedTrace, tmp_path: Path) -> None:
    assert stencil.report(tmp_path / "run.html").read_text().startswith("<!doctype html>")


def test_figures_share_a_figure(stencil: numascape.OpenedTrace) -> None:
    mpl.use("agg")
    figure, axes = plt.subplots(1, 2, layout="constrained")
    name = str(stencil.structures["name"][0])
    assert stencil.plot.access(name, ax=axes[0]) is figure
    assert stencil.plot.sharing(ax=axes[1]) is figure
    figure.draw_without_rendering()
    titles = [part.axes[0].get_title() for part in figure.subfigs]
    assert titles == [f"{name}: accesses", "Whole run: sharing"]
    plt.close(figure)


def test_unknown_names_are_named(tmp_path: Path) -> None:
    write_pattern(heat(), tmp_path / "heat.numascape")
    with pytest.raises(AttributeError, match="no attribute 'recrod'"):
        numascape.recrod  # noqa: B018
    assert {"OpenedTrace", "open", "record"} <= set(dir(numascape))
    trace = numascape.open(tmp_path / "heat.numascape")
    with pytest.raises(numascape.NumascapeError, match="has no phase"):
        trace.phase("none")
    with pytest.raises(numascape.NumascapeError, match=r"no table 'none': choose .*accesses"):
        trace.scan("none")
    with pytest.raises(numascape.NumascapeError, match=r"no policy 'none': choose .*interleave"):
        trace.predict("numa16", ["none"])  # type: ignore[list-item]
    with pytest.raises(numascape.NumascapeError, match=r"use numascape.record\(\['ls', '-l'\]\)"):
        numascape.record("ls -l")


def test_tab_offers_the_options_of_a_recording() -> None:
    """The options are those of the command; both are made from the same fields."""
    program, output, *options = inspect.signature(numascape.record).parameters
    assert (program, output) == ("program", "output")
    assert options == [field.name for field in fields(RecordOptions)]


def test_a_wrong_option_of_a_recording_is_named() -> None:
    with pytest.raises(numascape.NumascapeError, match=r"no option 'evry': choose from .*every"):
        numascape.record(["ls"], evry=1)  # type: ignore[call-arg]
