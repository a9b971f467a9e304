# SPDX-License-Identifier: Apache-2.0
"""Samples with all data of the hardware become a trace that passes every check."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import polars as pl
import pytest

from numascape.errors import NumascapeError
from numascape.findings import Kind, describe_not_judged, not_judged
from numascape.samples.events import (
    UNKNOWN_CALLERS,
    Event,
    Forked,
    NameGiven,
    RangeMapped,
    Recording,
    Sample,
)
from numascape.samples.perf_data import counts_of, machine_of_header, memory_blocks
from numascape.samples.perf_text import Parsed
from numascape.samples.tables import convert_samples
from numascape.trace import Trace
from numascape.trace.counting import (
    count_moments,
    sampling_error,
    share_error,
    structure_error,
)
from numascape.trace.info import Host
from numascape.trace.schema import SCHEMAS
from numascape.trace.write import write_trace
from unit.samples.test_perf_text import HEADER

BLOCK = 0x8000000
ANON = 0x7F0000000000


def access(tid: int, time: int, page: int, **more: object) -> Sample:
    values = {"kind": "read", "latency": 100, "source": "Local RAM hit", "physical": 5 * BLOCK}
    values.update(more)
    event = str(values.pop("event", "mem"))
    return Sample(9, tid, tid - 9, time, event, ANON + 4096 * page, 0, **values)  # type: ignore[arg-type]


def recording(events: list[Event]) -> Recording:
    machine = machine_of_header(HEADER)
    host = Host("big", "Linux", 4, 2, 0)
    blocks = memory_blocks(HEADER)
    command = ["perf", "mem", "a"]
    return Recording(events, command, "now", host, machine, "perf", "samples", [], blocks)


EVENTS: list[Event] = [
    NameGiven(9, 9, 0, "a", executed=True),
    RangeMapped(9, 1, ANON, ANON + 16 * 4096, 0, "//anon"),
    Forked(9, 11, 9, 2),
    access(9, 10, 0),
    access(11, 20, 3, kind="write", latency=None, source="L1 hit", physical=None),
    access(11, 30, 3, latency=900, source="Remote RAM (1 hop) hit", physical=BLOCK),
]


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    write_trace(tmp_path / "t.numascape", *convert_samples(recording(EVENTS)))
    opened = Trace.read(tmp_path / "t.numascape")
    for name in SCHEMAS:
        opened.table(name)  # checks it
    return opened


def test_accesses_are_samples(trace: Trace) -> None:
    assert trace.info.recorder.counts == "samples"
    rows = trace.accesses.select("page", "thread", "reads", "writes").sort("page").rows()
    assert rows == [(0, 0, 1, 0), (3, 1, 1, 1)]
    assert trace.first_touch.is_empty()


def test_sources_and_latencies_add_up(trace: Trace) -> None:
    rows = trace.data_sources.select(
        "thread", "source", "reads", "writes", "timed", "latency"
    ).rows()
    assert sorted(rows) == [
        (0, "Local RAM hit", 1, 0, 1, 100),
        (1, "L1 hit", 0, 1, 0, 0),
        (1, "Remote RAM (1 hop) hit", 1, 0, 1, 900),
    ]


def test_nodes_come_from_physical_addresses_and_cpus(trace: Trace) -> None:
    assert dict(trace.placement.select("page", "node").iter_rows()) == {0: 1, 3: 0}
    assert trace.threads["nodes"].to_list() == [[0], [1]]


def test_a_new_program_has_memory_of_its_own(tmp_path: Path) -> None:
    later: list[Event] = [
        NameGiven(9, 9, 40, "b", executed=True),
        RangeMapped(9, 41, ANON, ANON + 4096, 0, "[heap]"),
        access(9, 50, 0),
    ]
    tables, info = convert_samples(recording([*EVENTS, *later]))
    assert [process.process for process in info.processes] == [0, 1]
    assert tables["structures"].select("process", "name").rows() == [
        (0, "anonymous mapping"),
        (1, "heap"),
    ]
    assert tables["accesses"].select(pl.col("reads", "writes").sum()).row(0) == (3, 1)


def test_no_sample_is_said(tmp_path: Path) -> None:
    with pytest.raises(NumascapeError, match="no sample with an address"):
        convert_samples(recording(EVENTS[:3]))


def test_without_page_faults_first_touch_is_unknown(trace: Trace) -> None:
    assert trace.first_touch.is_empty()
    assert Kind.SERIAL_FIRST_TOUCH in not_judged(trace)
    assert "This trace has no first touches" in describe_not_judged(trace)
    assert "`perf record -e page-faults:u" in describe_not_judged(trace)
    # `numascape record --pid` records no page faults if the process has run for a while.
    recorder = dataclasses.replace(trace.info.recorder, name="binary")
    attached = Trace(trace.path, dataclasses.replace(trace.info, recorder=recorder))
    said = describe_not_judged(attached)
    assert said.endswith("not where first touched. Start the program with `numascape record`.")


def test_only_page_faults_are_no_accesses() -> None:
    def counts(*events: str) -> str:
        samples: list[Event] = [access(9, i, i, event=name) for i, name in enumerate(events)]
        return counts_of(Parsed(samples))

    assert counts("page-faults:u", "minor-faults") == "first touches"
    assert counts("page-faults:u", "cpu/mem-loads,ldlat=30/P") == "samples"
    assert counts() == "samples"


def test_samples_of_one_moment_count_as_one_in_errors(tmp_path: Path) -> None:
    events = [*EVENTS, *(access(9, 40 + n, page) for n in range(3) for page in range(4))]
    moments = count_moments(pl.Series([1, 2, 90_000_000]))
    bursts = dataclasses.replace(recording(events), moments=moments)
    assert bursts.moments == 2
    write_trace(tmp_path / "t.numascape", *convert_samples(bursts))
    trace = Trace.read(tmp_path / "t.numascape")
    assert sampling_error(trace.info.recorder, 15) == share_error(2)
    many = dataclasses.replace(bursts, moments=100)
    write_trace(tmp_path / "m.numascape", *convert_samples(many))
    # Most pages have three samples, and one has five.
    assert structure_error(Trace.read(tmp_path / "m.numascape"), 0) == share_error(5)


def test_what_is_the_kernels_is_so_on_every_processor(tmp_path: Path) -> None:
    kernel, arm_code, arm_data = 0xFFFF800010A00000, 0xAAAAC0DE1000, 0xFFFF8A001000
    events = [
        *EVENTS,
        Sample(9, 9, 0, 50, "mem", kernel, kernel, kind="read"),
        Sample(9, 9, 0, 51, "mem", arm_data, arm_code, kind="read"),
    ]
    write_trace(tmp_path / "t.numascape", *convert_samples(recording(events)))
    trace = Trace.read(tmp_path / "t.numascape")
    used = trace.source_lines.join(trace.structures, on="structure", suffix="_of")
    by_name = dict(used.select("name", "function").iter_rows())
    assert by_name["the kernel's memory"] == "the kernel, in a system call"
    assert by_name["memory outside all mappings seen"] == ""


def test_samples_have_the_calls_that_led_to_them(tmp_path: Path) -> None:
    """No file is mapped, so the functions have no names."""
    called = [
        access(9, 10, 0, calls=(0x2000, 0x1000)),
        access(11, 20, 0, calls=(0x2000, 0x1000)),
        access(11, 30, 3, kind="write", calls=(0x2000, UNKNOWN_CALLERS)),
        dataclasses.replace(access(11, 40, 3, calls=()), pc=1 << 63),
        access(11, 50, 3),  # its callers were not recorded
    ]
    write_trace(tmp_path / "c.numascape", *convert_samples(recording([*EVENTS[:3], *called])))
    trace = Trace.read(tmp_path / "c.numascape")
    # Without a name and a file, a function that nobody calls looks like unknown callers.
    unnamed = [(-1, ""), (0, ""), (1, "")]
    kernel = (-1, "the kernel, in a system call")
    assert trace.call_paths.select("caller", "function").rows() == [*unnamed, kernel]
    by_path = trace.path_accesses.select("page", "path", "reads", "writes").sort("page", "path")
    assert by_path.group_by("page", "path", maintain_order=True).sum().rows() == [
        *((0, 2, 2, 0), (3, 2, 0, 1), (3, 3, 1, 0)),
    ]
    assert trace.accesses.select(pl.sum("reads")).item() == 4
