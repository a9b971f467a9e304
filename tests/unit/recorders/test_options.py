# SPDX-License-Identifier: Apache-2.0
"""The options of a recording are checked once."""

from dataclasses import replace

import pytest

from numascape.errors import NumascapeError
from numascape.recording.modelled_cache import ModelledCache, cache_of_this_host
from numascape.recording.options import PhaseKind, RecorderName, RecordOptions, record_options

CACHE = ModelledCache(1 << 20, 16, 64)


@pytest.mark.parametrize(
    ("phases", "regions", "marks"),
    [("all", True, True), ("regions", True, False), ("marks", False, True), ("none", False, False)],
)
def test_what_begins_a_phase(phases: PhaseKind, regions: bool, marks: bool) -> None:
    options = RecordOptions(phases=phases)
    assert (options.records_regions, options.records_marks) == (regions, marks)
    with pytest.raises(NumascapeError, match="--every and --phases cannot be used together"):
        replace(options, every=1)


def test_by_default_regions_and_marks_begin_phases() -> None:
    options = RecordOptions()
    assert options.records_regions
    assert options.records_marks
    assert options.decided("binary").phases == "all"


def test_time_slices_replace_other_phases() -> None:
    options = RecordOptions(every=1)
    assert not options.records_regions
    assert not options.records_marks
    assert options.decided("binary").phases is None


@pytest.mark.parametrize("every", [0, 0.009, -1, float("inf"), float("nan")])
def test_a_phase_has_a_length(every: float) -> None:
    with pytest.raises(NumascapeError, match=r"use at least 0\.01"):
        RecordOptions(every=every)


@pytest.mark.parametrize("recorder", ["compiled", "faults"])
def test_only_the_binary_recorder_models_caches(recorder: str) -> None:
    with pytest.raises(NumascapeError, match=f"the {recorder} recorder cannot count memory"):
        RecordOptions(recorder, traffic=True)  # type: ignore[arg-type]
    assert RecordOptions("binary", traffic=True, cache=CACHE).cache == CACHE


def test_a_cache_needs_traffic() -> None:
    assert record_options({"traffic": True, "cache": "1M,16,64"}).cache == CACHE
    with pytest.raises(NumascapeError, match="--cache needs --traffic"):
        record_options({"cache": "1M,16,64"})


def test_without_a_cache_that_of_this_machine_is_modelled() -> None:
    assert RecordOptions(traffic=True).decided("binary").cache == cache_of_this_host()
    assert RecordOptions(traffic=True, cache=CACHE).decided("binary").cache == CACHE
    assert RecordOptions().decided("binary").cache is None


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
    chosen = RecordOptions(every=0.5, traffic=True, cache=CACHE).decided("binary")
    assert chosen.document() == {
        "stack": True,
        "source_lines": True,
        "every": 0.5,
        "traffic": True,
        "cache": {"bytes": 1 << 20, "ways": 16, "line_bytes": 64},
    }
    assert RecordOptions().decided("binary").document()["phases"] == "all"


@pytest.mark.parametrize("recorder", ["samples", "faults", "compiled"])
def test_a_trace_has_no_options_that_its_recorder_does_not_use(recorder: RecorderName) -> None:
    options = RecordOptions().decided(recorder)
    own = {"call_paths": True} if recorder == "samples" else {}
    assert options.document() == {"phases": "all", **own}


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"evry": 1}, "no option 'evry': choose from recorder, stack, source_lines, phases, every"),
        ({"phases": "loops"}, "phases loops: choose one of all, regions, marks, none"),
        ({"every": "1"}, "every '1': give a number"),
        ({"every": True}, "every True: give a number"),
        ({"frequency": 1.5}, "frequency 1.5: give a whole number"),
        ({"stack": 0}, "stack 0: give True or False"),
        ({"event": 1}, "event 1: give a text"),
    ],
)
def test_a_value_that_is_none_is_refused(given: dict[str, object], reason: str) -> None:
    with pytest.raises(NumascapeError, match=reason):
        record_options(given)


def test_none_is_the_default_and_an_older_name_is_understood() -> None:
    assert record_options({"recorder": None, "every": None}) == RecordOptions()
    assert record_options({"lines": False}) == RecordOptions(source_lines=False)
    assert record_options({"every": 1}) == RecordOptions(every=1.0)
