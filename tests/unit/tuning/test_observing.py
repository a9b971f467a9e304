# SPDX-License-Identifier: Apache-2.0
"""By default, `tune` observes with a recorder that hardly slows the process down."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from numascape import NumascapeError
from numascape.live.targets import TargetProcess, target_of
from numascape.trace import Trace
from numascape.tuning import observing
from numascape.tuning.observing import check_enough, choose_recorder


@pytest.mark.parametrize(("samples", "enough"), [(49, False), (50, True)])
def test_few_samples_move_nothing(trace_folder: Path, samples: int, enough: bool) -> None:
    trace = Trace.read(trace_folder)
    recorder = replace(trace.info.recorder, counts="samples")
    totals = replace(trace.info.totals, reads=samples - 9, writes=9)
    sampled = replace(trace, info=replace(trace.info, recorder=recorder, totals=totals))
    if enough:
        check_enough(sampled, "it", 2.0)
        return
    with pytest.raises(NumascapeError, match=r"^it: 49 samples in 2 s, too few .*observe longer"):
        check_enough(sampled, "it", 2.0)


@pytest.fixture
def target() -> TargetProcess:
    found = target_of(os.getpid())
    assert found is not None
    return found


@pytest.mark.program
def test_samples_are_taken_where_the_kernel_permits_them(target: TargetProcess) -> None:
    if os.geteuid() != 0 and int(Path("/proc/sys/kernel/perf_event_paranoid").read_text()) > 2:
        pytest.skip("this kernel permits no events to users")
    assert choose_recorder(target) == "samples"


@pytest.mark.parametrize("balances", ["0", "1"])
def test_else_hinting_faults_if_the_kernel_balances(
    target: TargetProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, balances: str
) -> None:
    switch = tmp_path / "proc/sys/kernel/numa_balancing"
    switch.parent.mkdir(parents=True)
    switch.write_text(balances)
    monkeypatch.setattr(observing, "why_not_sampled", lambda _pid, _root: "it is forbidden")
    there = replace(target, root=tmp_path)
    if balances == "1":
        assert choose_recorder(there) == "faults"
        return
    with pytest.raises(NumascapeError, match=r"^it is forbidden\. Or use --recorder binary"):
        choose_recorder(there)
