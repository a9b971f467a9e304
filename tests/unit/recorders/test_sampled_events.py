# SPDX-License-Identifier: Apache-2.0
"""Events with the addresses of accesses, as the kernel describes those of a processor."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from numascape import NumascapeError
from numascape.recorders.event_choice import choose_events
from numascape.recorders.sampled_events import (
    SampledEvent,
    events_of_running,
    hardware_events,
    in_bursts,
)
from numascape.recorders.sampled_events import chosen_events as events_of
from numascape.recording.options import RecordOptions


def device(root: Path, name: str, files: dict[str, str]) -> None:
    folder = root / "sys/bus/event_source/devices" / name
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text + "\n")


def chosen_events(name: str | None, root: Path, frequency: int | None = None) -> list[SampledEvent]:
    return events_of(RecordOptions("samples", event=name, frequency=frequency), root)


def intel(root: Path, loads: str = "event=0xcd,umask=0x1,ldlat=3") -> None:
    """The events of an Ice Lake, as Linux 6.1 describes them."""
    device(
        root,
        "cpu",
        {
            "type": "4",
            "events/mem-loads": loads,
            "events/mem-stores": "event=0xd0,umask=0x82",
            "format/event": "config:0-7",
            "format/umask": "config:8-15",
            "format/any": "config:21",
            "format/ldlat": "config1:0-15",
        },
    )


def test_events_of_intel_have_the_bits_of_their_fields(tmp_path: Path) -> None:
    intel(tmp_path)
    loads, stores = hardware_events(tmp_path)
    assert (loads.kind, loads.config, loads.config1) == (4, 0x1CD, 3)
    assert (stores.kind, stores.config, stores.config1) == (4, 0x82D0, 0)
    assert loads.words == "4:461:3:2:1000:0:0:0:0:0:0"
    assert chosen_events("mem-stores", tmp_path) == [replace(stores, stack=4096)]


def test_ibs_of_amd_is_a_device_of_its_own(tmp_path: Path) -> None:
    device(tmp_path, "ibs_op", {"type": "11"})
    device(tmp_path, "cpu", {"type": "4"})
    (event,) = chosen_events(None, tmp_path)
    assert (event.name, event.words) == ("ibs_op", "11:0:0:0:1000:0:0:0:0:0:4096")


@pytest.mark.parametrize(
    "loads",
    ["", "event=0xcd,unknown=1", "event=-1", "event=0x100", "event=1,umask=0xfff", "x=y=z"],
)
def test_descriptions_that_are_not_understood_are_left_out(tmp_path: Path, loads: str) -> None:
    intel(tmp_path, loads)
    assert [event.name for event in hardware_events(tmp_path)] == ["mem-stores"]


def test_a_field_without_a_value_is_set(tmp_path: Path) -> None:
    intel(tmp_path, "event=0xcd,any")
    assert hardware_events(tmp_path)[0].config == 1 << 21 | 0xCD


def test_the_clock_is_sampled_where_the_processor_has_no_events(tmp_path: Path) -> None:
    (event,) = chosen_events(None, tmp_path)
    assert (event.name, event.words) == ("task-clock", "1:1:0:0:0:1000003:0:0:0:0:4096")
    assert chosen_events("task-clock", tmp_path, 100)[0].period == 10_000_003
    intel(tmp_path)
    assert [event.name for event in chosen_events(None, tmp_path)] == ["mem-loads", "mem-stores"]
    assert {event.frequency for event in chosen_events(None, tmp_path, 99)} == {99}


def test_a_running_process_is_sampled_less_often(tmp_path: Path) -> None:
    (event,) = events_of_running(RecordOptions("samples"), tmp_path)
    assert event.words == "1:1:0:0:0:4000003:10000003:0:0:0:4096"
    (event,) = events_of_running(RecordOptions("samples", frequency=20), tmp_path)
    assert event.words == "1:1:0:0:0:50000003:50000003:0:0:0:4096"
    intel(tmp_path)
    found = [replace(event, stack=4096) for event in hardware_events(tmp_path)]
    assert events_of_running(RecordOptions("samples"), tmp_path) == found


def test_a_sample_copies_less_of_the_stack_at_a_high_frequency(tmp_path: Path) -> None:
    copied = {
        frequency: chosen_events("task-clock", tmp_path, frequency)[0].stack
        for frequency in (10, 1000, 3000, 20_000)
    }
    assert copied == {10: 4096, 1000: 4096, 3000: 1360, 20_000: 512}
    without = RecordOptions("samples", call_paths=False)
    assert {event.stack for event in events_of_running(without, tmp_path)} == {0}


def test_only_the_clock_is_sampled_in_bursts(tmp_path: Path) -> None:
    (clock,) = events_of_running(RecordOptions("samples"), tmp_path)
    assert in_bursts(clock).words == "1:1:0:0:0:4000003:10000003:0:0:250003:4096"
    intel(tmp_path)
    events = hardware_events(tmp_path)
    assert [in_bursts(event) for event in events] == events


def test_an_event_that_the_processor_does_not_have_is_named(tmp_path: Path) -> None:
    with pytest.raises(NumascapeError, match=r"PEBS of Intel, IBS of AMD.*--event task-clock"):
        chosen_events("mem-loads", tmp_path)
    intel(tmp_path)
    with pytest.raises(NumascapeError, match="no event 'cycles'"):
        chosen_events("cycles", tmp_path)


def test_ibs_drops_samples_of_the_kernel_where_it_can(tmp_path: Path) -> None:
    device(tmp_path, "ibs_op", {"type": "11", "format/swfilt": "config2:0"})
    (event,) = chosen_events(None, tmp_path)
    assert (event.filter, event.words) == (1, "11:0:0:0:1000:0:0:1:0:0:4096")


def test_loads_of_newer_cores_of_intel_have_a_leader(tmp_path: Path) -> None:
    """As Linux 6.1 describes a Sapphire Rapids."""
    intel(tmp_path)
    device(tmp_path, "cpu", {"events/mem-loads-aux": "event=0x03,umask=0x82"})
    loads, stores = hardware_events(tmp_path)
    assert (loads.leader, stores.leader) == (0x8203, 0)
    assert loads.words == "4:461:3:2:1000:0:0:0:33283:0:0"


@pytest.mark.program
def test_the_clock_is_sampled_if_the_kernel_does_not_open_an_event(tmp_path: Path) -> None:
    """No kernel has a device of this number."""
    device(tmp_path, "ibs_op", {"type": "987654"})
    said: list[str] = []
    for is_running in (False, True):
        options = RecordOptions("samples")
        (event,) = choose_events(options, is_running, said.append, tmp_path)
        assert event.name == "task-clock"
    assert said[0] == said[1]
    assert said[0].startswith("Sampling the clock instead of ibs_op, because the kernel does not")
    named = RecordOptions("samples", event="ibs_op")
    (event,) = choose_events(named, False, said.append, tmp_path)
    assert (event.name, len(said)) == ("ibs_op", 2)


def test_page_faults_are_sampled_everywhere(tmp_path: Path) -> None:
    (event,) = chosen_events("page-faults", tmp_path)
    assert event.words == "1:2:0:0:0:1:0:0:0:0:0"
