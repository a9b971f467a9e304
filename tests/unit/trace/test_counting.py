# SPDX-License-Identifier: Apache-2.0
"""The errors of estimates from bursts, by hand."""

from __future__ import annotations

import math
from pathlib import Path

import polars as pl
import pytest

import numascape
from numascape.trace import Trace, TraceInfo, write_trace
from numascape.trace.counting import counted_share, estimate_errors, mean_weight, run_error
from numascape.trace.info import CountedWork, Recorder
from numascape.trace.phase import TraceOfPhase

Tables = dict[str, pl.DataFrame]
# Student's distribution with 7 degrees of freedom, 95 %.
T = 2.365


def of_share(tmp_path: Path, tables: Tables, info: TraceInfo, share: float) -> Trace:
    recorder = Recorder("binary", "0.1.0", {"sample": share})
    fields = {**info.__dict__, "recorder": recorder}
    write_trace(tmp_path / "t.numascape", tables, TraceInfo(**fields))
    return numascape.open(tmp_path / "t.numascape")


def test_the_error_follows_from_the_differences_of_groups(
    tmp_path: Path, tables: Tables, info: TraceInfo
) -> None:
    trace = of_share(tmp_path, tables, info, 0.25)
    found = estimate_errors(trace, ["structure", "thread"])
    # One group has everything: 7/8 of its square is the sum of squares around the mean. One of
    # the four and three bursts stands for a quarter and a third.
    assert found.select("structure", "thread", "accesses").rows() == [(0, 0, 512.0), (0, 1, 912.0)]
    assert found["error"].to_list() == pytest.approx(
        [
            math.hypot(T * math.sqrt(0.75) * 512, 512 / 4),
            math.hypot(T * math.sqrt(0.75) * 912, 912 / 3),
        ]
    )
    chance = T * math.sqrt(0.75 * 8 / 7 * (512**2 + 912**2 - (512 + 912) ** 2 / 8))
    together = math.hypot(chance, 512 / 4, 912 / 3)
    assert run_error(trace) == pytest.approx(together / (512 + 912))


def test_equal_groups_have_the_error_of_one_burst(
    tmp_path: Path, tables: Tables, info: TraceInfo
) -> None:
    rows = [(0, 0, 0, group, 30, 70, 2) for group in range(8)]
    schema = tables["burst_groups"].schema
    tables = {**tables, "burst_groups": pl.DataFrame(rows, schema=schema, orient="row")}
    trace = of_share(tmp_path, tables, info, 0.1)
    assert estimate_errors(trace, ["structure"]).row(0) == (0, 800.0, 50.0)
    assert run_error(trace) == 50 / 800


def test_phases_have_their_own_errors(tmp_path: Path, tables: Tables, info: TraceInfo) -> None:
    # In phase 1, one group has everything.
    rows = [(0, 0, 0, group, 30, 70, 2) for group in range(8)] + [(0, 0, 1, 3, 80, 0, 2)]
    schema = tables["burst_groups"].schema
    phases = pl.concat(
        [tables["phases"], tables["phases"].with_columns(phase=pl.lit(1, pl.UInt32))]
    )
    groups = pl.DataFrame(rows, schema=schema, orient="row")
    trace = of_share(tmp_path, {**tables, "phases": phases, "burst_groups": groups}, info, 0.1)
    found = estimate_errors(trace, ["phase"])
    assert found.select("phase", "accesses").rows() == [(0, 800.0), (1, 80.0)]
    lumped = math.hypot(T * math.sqrt(0.9) * 80, 80 / 2)
    assert found["error"].to_list() == pytest.approx([50.0, lumped])
    assert run_error(TraceOfPhase.of(trace, 1)) == pytest.approx(lumped / 80)
    assert estimate_errors(trace, ["phase"], [1]).is_empty()


def test_a_complete_recording_has_no_error(tmp_path: Path, tables: Tables, info: TraceInfo) -> None:
    tables = {**tables, "burst_groups": tables["burst_groups"].clear()}
    write_trace(tmp_path / "t.numascape", tables, info)
    trace = numascape.open(tmp_path / "t.numascape")
    assert counted_share(trace) == 1.0
    assert run_error(trace) == 0.0


@pytest.mark.parametrize("share", [0.0, -1.0, 1.5, "a lot"])
def test_a_share_that_cannot_be_is_none(
    tmp_path: Path, tables: Tables, info: TraceInfo, share: float
) -> None:
    assert counted_share(of_share(tmp_path, tables, info, share)) == 1.0


def test_a_share_that_changed_has_the_error_of_its_smallest(
    tmp_path: Path, tables: Tables, info: TraceInfo
) -> None:
    fixed = of_share(tmp_path, tables, info, 0.25)
    work = CountedWork(0.25, 9.0)
    recorder = Recorder("binary", "0.1.0", {"sample": "auto", "cost": 1.15}, counted_work=work)
    fields = {**info.__dict__, "recorder": recorder}
    write_trace(tmp_path / "auto.numascape", tables, TraceInfo(**fields))
    changing = numascape.open(tmp_path / "auto.numascape")
    assert counted_share(changing) == counted_share(fixed) == 0.25
    assert (mean_weight(changing), mean_weight(fixed)) == (9.0, 4.0)
    # The parts of the run with a small share hardly know more than the differences of groups say.
    by_structure = [estimate_errors(one, ["structure", "thread"]) for one in (changing, fixed)]
    chance = [math.sqrt(row["error"][0] ** 2 - (512 / 4) ** 2) for row in by_structure]
    assert chance[0] == pytest.approx(chance[1] / math.sqrt(0.75))
