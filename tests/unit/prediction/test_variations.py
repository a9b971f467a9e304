# SPDX-License-Identifier: Apache-2.0
"""The interval of a prediction: each assumption at its bounds, in runs with a closed form."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from numascape.prediction import demand_of, interleave, predict, speeds_of
from numascape.prediction.load import RunPlacement, Tuning, load_of, placed_on
from numascape.prediction.model import Prediction
from unit.prediction.made_up import machine_of, nodes, trace_of

# In the order of `variants`: unchanged; accesses, lines in flight and bandwidths at their bounds;
# six for the estimates of lines; and the time of other work.
AS_IS, ACCESSES, FLYING, BANDWIDTH, ESTIMATES, OTHER = (
    *(slice(0, 1), slice(1, 3), slice(3, 5)),
    *(slice(5, 7), slice(7, 13), slice(13, 15)),
)


def variants(found: Prediction) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.array(found.variants) / found.variants[0]


def test_computing_takes_half_or_twice_the_time() -> None:
    machine = machine_of(1, 1)
    trace = trace_of([(0, 0, 1000, 0)], 1, lines=[0])
    found = predict(trace, machine, RunPlacement(interleave(trace, machine), nodes(0)))
    assert found.seconds == pytest.approx(1000 * 0.5e-9)
    shares = variants(found)
    assert shares[ACCESSES].tolist() == pytest.approx([0.5, 2.0])
    for others in (AS_IS, FLYING, BANDWIDTH, ESTIMATES, OTHER):
        assert shares[others].tolist() == pytest.approx([1.0] * len(shares[others]))


def test_waiting_depends_on_the_lines_in_flight() -> None:
    machine = machine_of(1, 1, memory_gb_s=1e6)
    trace = trace_of([(0, 0, 64, 0)], 1, lines=[64])
    speeds = replace(speeds_of(machine), core_ns=0.0)
    found = predict(trace, speeds, RunPlacement(interleave(trace, machine), nodes(0)))
    assert found.seconds == pytest.approx(64 * 100e-9 / 10)
    shares = variants(found)
    assert shares[FLYING].tolist() == pytest.approx([2.0, 0.5])
    for others in (ACCESSES, BANDWIDTH, ESTIMATES, OTHER):
        assert shares[others].tolist() == pytest.approx([1.0] * len(shares[others]))


@pytest.mark.parametrize("on", ["memory", "link"])
def test_bandwidths_are_known_to_fifteen_percent(on: str) -> None:
    slow = 1e-3
    machine = machine_of(2, 1, **{f"{on}_gb_s": slow})  # type: ignore[arg-type]
    trace = trace_of([(0, 0, 64, 0)], 1, lines=[64])
    page = interleave(trace, machine, [1])
    found = predict(trace, machine, RunPlacement(page, nodes(0)))
    assert found.seconds == pytest.approx(4096 / (slow * 1e9))
    assert found.limit_kind == on
    assert variants(found)[BANDWIDTH].tolist() == pytest.approx([1 / 0.85, 1 / 1.15])


def test_estimated_lines_are_between_their_bounds() -> None:
    machine = machine_of(1, 1, memory_gb_s=1e-3)
    speeds = replace(speeds_of(machine), shared_cache=4096.0, private_cache=0.0)
    # Half of two pages stays in the cache. Of each, at least 64 lines come, and at most half of
    # a line for each eight of 4096 accesses: 256. The estimate is the geometric mean, 128.
    trace = trace_of([(0, 0, 4096, 0), (1, 0, 4096, 0)], 1)
    demand = demand_of(trace, speeds)
    assert demand.lines.tolist() == [128.0, 128.0]
    assert (demand.least, demand.most) == (0.5, 2.0)
    found = predict(demand, speeds, RunPlacement(interleave(trace, machine), nodes(0)))
    assert found.seconds == pytest.approx(2 * 128 * 64 / 1e6)
    assert variants(found)[ESTIMATES].tolist() == pytest.approx([0.5, 2.0, 1.0, 1.0, 1.0, 1.0])


def test_the_time_of_other_work_is_half_or_twice_as_long() -> None:
    machine = machine_of(1, 1)
    trace = trace_of([(0, 0, 1000, 0)], 1, lines=[0])
    placed = interleave(trace, machine)
    alone = predict(trace, machine, RunPlacement(placed, nodes(0)))
    found = predict(
        trace, machine, RunPlacement(placed, nodes(0), thread_seconds=3e-6), reference=alone
    )
    own = alone.seconds
    assert found.seconds == pytest.approx(own + 3e-6)
    assert found.variants[13:] == pytest.approx((own + 1.5e-6, own + 6e-6))
    relatives = [a / b for a, b in zip(found.variants, alone.variants, strict=True)]
    assert (found.relative, found.low, found.high) == pytest.approx(
        (relatives[0], min(relatives), max(relatives))
    )


@pytest.mark.parametrize(("others", "kind"), [(0.84, "thread"), (0.86, "memory")])
def test_a_memory_limits_from_85_percent_of_the_time(others: float, kind: str) -> None:
    # One thread waits 1 ms for 10^5 lines; the memory sends them in a part of this time.
    machine = machine_of(1, 1, memory_gb_s=6.4 / others)
    trace = trace_of([(0, 0, 100_000, 0)], 1, lines=[100_000])
    speeds = replace(speeds_of(machine), core_ns=0.0)
    found = predict(trace, speeds, RunPlacement(interleave(trace, machine), nodes(0)))
    assert found.seconds == pytest.approx(1e-3)
    assert found.limit_kind == kind


def test_bounds_that_are_the_same_are_computed_once() -> None:
    machine = machine_of(2, 4)
    trace = trace_of([(0, 0, 640, 0), (0, 1, 640, 0)], 2, lines=[640, 640])
    for sharers, same in ((1, True), (4, False)):
        speeds = replace(speeds_of(machine), sharers=sharers)
        demand = demand_of(trace, speeds)
        placed = placed_on(demand, speeds, RunPlacement(interleave(trace, machine), nodes(0, 0)))
        load = load_of(demand, speeds, placed, Tuning())
        assert (load.bytes is load.max_bytes) is same
        assert (load.min_bytes is load.max_bytes) is same
        assert load.waits is load.min_waits is load.max_waits
