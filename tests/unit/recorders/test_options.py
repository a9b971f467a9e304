# SPDX-License-Identifier: Apache-2.0
"""What the user chose for a recording, checked once."""

from dataclasses import replace

import pytest

from numascape.errors import NumascapeError
from numascape.recording.modelled_cache import ModelledCache
from numascape.recording.options import PhaseKind, RecordOptions, choose_cache

CACHE = ModelledCache(1 << 20, 16, 64)


@pytest.mark.parametrize(
    ("phases", "regions", "marks"),
    [("all", True, True), ("regions", True, False), ("marks", False, True), ("none", False, False)],
)
def test_what_begins_a_phase(phases: PhaseKind, regions: bool, marks: bool) -> None:
    options = RecordOptions(phases=phases)
    assert (options.records_regions, options.records_marks) == (regions, marks)
    sliced = RecordOptions(phases=phases, every_s=1)
    assert not sliced.records_regions
    assert not sliced.records_marks


@pytest.mark.parametrize("every_s", [0, 0.009, -1, float("inf"), float("nan")])
def test_a_phase_has_a_length(every_s: float) -> None:
    with pytest.raises(NumascapeError, match=r"use at least 0\.01"):
        RecordOptions(every_s=every_s)


@pytest.mark.parametrize("recorder", ["compiled", "faults"])
def test_only_the_binary_recorder_models_caches(recorder: str) -> None:
    with pytest.raises(NumascapeError, match=f"the {recorder} recorder cannot count memory"):
        RecordOptions(recorder, cache=CACHE)  # type: ignore[arg-type]
    assert RecordOptions("binary", cache=CACHE) == RecordOptions("binary", cache=CACHE)


def test_a_cache_needs_traffic() -> None:
    assert choose_cache(traffic=False, cache=None) is None
    assert choose_cache(traffic=True, cache="1M,16,64") == CACHE
    with pytest.raises(NumascapeError, match="--cache needs --traffic"):
        choose_cache(traffic=False, cache="1M,16,64")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (RecordOptions("binary"), "--frequency needs --recorder samples"),
        (RecordOptions("samples", event="page-faults"), "leave out --frequency"),
    ],
)
def test_a_frequency_is_one_of_samples(options: RecordOptions, reason: str) -> None:
    with pytest.raises(NumascapeError, match=reason):
        replace(options, frequency=100)


@pytest.mark.parametrize("frequency", [0, -1, 20_001])
def test_a_frequency_is_possible(frequency: int) -> None:
    with pytest.raises(NumascapeError, match="use 1 to 20000"):
        RecordOptions("samples", frequency=frequency)


def test_a_trace_tells_what_was_chosen() -> None:
    assert RecordOptions("binary").document() == {"stack": True, "lines": True, "phases": "all"}
    assert RecordOptions(every_s=0.5, cache=CACHE).document()["cache"] == {
        "bytes": 1 << 20,
        "ways": 16,
        "line_bytes": 64,
    }
