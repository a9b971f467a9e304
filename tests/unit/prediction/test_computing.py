# SPDX-License-Identifier: Apache-2.0
"""A run computes if accesses to memory explain at most half of its CPU time."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from numascape.prediction.computing import (
    INSTRUCTION_NS,
    LAST_LEVEL_BYTES,
    STARTING_S,
    computing_ns,
)
from numascape.prediction.load import RunPlacement
from numascape.prediction.model import predict
from numascape.prediction.policies import interleaved
from numascape.trace import Trace
from numascape.trace.format import PAGE_BYTES
from numascape.trace.info import Times, Totals
from unit.prediction.made_up import machine_of, nodes, trace_of

FITS = LAST_LEVEL_BYTES // PAGE_BYTES
ACCESSES = 100_000_000


def of(
    each_ns: float, pages: int = 1, at_random: int = 0, executed: int = 0, **changed: Any
) -> float:
    """What a run computes that uses so much CPU time for each access."""
    whole = {
        "times": Times(1.0, STARTING_S + each_ns * ACCESSES * 1e-9),
        "totals": Totals(ACCESSES - 1000, 1000, pages, 4),
        "recorder": SimpleNamespace(counts="accesses"),
    }
    trace: Any = SimpleNamespace(
        info=SimpleNamespace(**{**whole, **changed}),
        instructions=pl.DataFrame({"instructions": [executed]}),
    )
    return computing_ns(trace, at_random)


@pytest.mark.parametrize(
    ("below", "above", "pages", "at_random"),
    [
        (99.0, 101.0, FITS, 0),  # 50 ns for an access that a cache answers
        (199.0, 201.0, FITS + 1, 0),  # 100 ns for one that memory answers
        (199.0, 201.0, FITS, ACCESSES),
        (149.0, 151.0, FITS, ACCESSES // 2),
    ],
)
def test_half_of_the_time_is_not_for_accesses(
    below: float, above: float, pages: int, at_random: int
) -> None:
    assert of(below, pages, at_random) == 0
    assert of(above, pages, at_random) == pytest.approx(above / 2 + 0.5)


@pytest.mark.parametrize(
    ("below", "above", "pages", "at_random"),
    [
        (79, 80, FITS, 0),
        (399, 400, FITS + 1, 0),
        (399, 400, FITS, ACCESSES),
        (239, 240, FITS, ACCESSES // 2),
    ],
)
def test_instructions_tell_whatever_the_time_is(
    below: int, above: int, pages: int, at_random: int
) -> None:
    for each_ns in (0.1, 1000):
        assert of(each_ns, pages, at_random, below * ACCESSES) == 0
        computing = of(each_ns, pages, at_random, above * ACCESSES)
        assert computing == pytest.approx(above * INSTRUCTION_NS)
    assert of(0.1, executed=1000 * ACCESSES, recorder=SimpleNamespace(counts="samples")) == 0


def test_the_time_without_recording_is_the_time_if_it_is_known() -> None:
    recorded = Times(1.0, 200.0, 9.9)
    assert of(0, times=recorded) == 0
    assert of(0, times=replace(recorded, native_cpu_s=10.1)) == pytest.approx(51)


def test_short_runs_and_other_counts_do_not_tell() -> None:
    few = Totals(1000, 0, 1, 4)
    assert of(0, times=Times(1.0, 2 * STARTING_S - 0.01), totals=few) == 0
    assert of(0, times=Times(1.0, 2 * STARTING_S + 0.01), totals=few) > 0
    assert of(0, times=Times(1.0, None)) == 0
    assert of(500) > 0
    assert of(500, recorder=SimpleNamespace(counts="samples")) == 0
    assert of(500, totals=Totals(0, 0, 1, 1)) == 0


def test_what_computes_gains_little_from_any_placement() -> None:
    machine = machine_of(2)

    def gain(trace: Trace) -> float:
        at_home = RunPlacement(interleaved(trace.accesses, machine), nodes(0, 0))
        spread = predict(trace, machine, at_home)
        rows = trace.accesses.select("structure", "instance", "page").unique()
        first = rows.with_columns(node=0, share=1.0)
        local = predict(trace, machine, RunPlacement(first, nodes(0, 0)), reference=spread)
        return 1 - local.relative

    accesses = [(page, thread, 2000, 0) for page in range(500) for thread in (0, 1)]
    busy = trace_of(accesses, 2)
    computing = trace_of(accesses, 2, cpu_s=STARTING_S + 2e6 * 1000e-9)
    assert computing_ns(computing) == pytest.approx(950)
    assert gain(busy) > 0.02
    assert gain(computing) < gain(busy) / 100
