# SPDX-License-Identifier: Apache-2.0
"""Parallel regions, marks and time slices are phases, and each access is in the current one."""

import dataclasses
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from integration.attaching import record as record_running
from integration.attaching import wait_for
from numascape.recorders import binary
from numascape.recorders.process_time import ProcessTime
from numascape.recorders.record import convert_session
from numascape.recording.options import RecordOptions
from numascape.recording.session import begin_session

SOURCE = (Path(__file__).parent / "programs" / "phases.c").read_text().splitlines()
FORTRAN = Path(__file__).parent / "programs" / "phases_fortran.f90"
PART = 1024
WHOLE = 4 * PART
OUTSIDE = "outside all phases"
COMPILED = ["phases", "phases_cxx", "phases_clang", "phases_static"]

Counts = dict[str, tuple[int, int]]


def line_of(region: str) -> int:
    return 1 + next(i for i, line in enumerate(SOURCE) if line.endswith(f"// region: {region}"))


def region(function: str, name: str) -> str:
    return f"{function}, parallel region at phases.c:{line_of(name)}"


def by_phase(recording: Any, structure: str = "data", process: int | None = None) -> Counts:
    """Reads and writes of the structure in each phase where it has any."""
    rows = recording.rows(structure, process).group_by("phase")
    named = rows.agg(pl.col("reads", "writes").sum()).join(recording.trace.phases, on="phase")
    return {row["name"]: (row["reads"], row["writes"]) for row in named.iter_rows(named=True)}


def by_thread(recording: Any, phase: str) -> dict[int, tuple[int, int]]:
    number = phases(recording)[phase]["phase"]
    rows = recording.rows("data").filter(pl.col("phase") == number).group_by("thread")
    sums = rows.agg(pl.col("reads", "writes").sum())
    return {thread: (reads, writes) for thread, reads, writes in sums.iter_rows()}


def phases(recording: Any) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in recording.trace.phases.iter_rows(named=True)}


@pytest.mark.parametrize("program", COMPILED)
def test_regions_are_phases(record: Any, program: str) -> None:
    recording = record(program, "regions", 5)
    write, read = region("regions", "write"), region("regions", "read")
    assert by_phase(recording) == {
        write: (0, WHOLE),
        read: (5 * WHOLE, 0),
        OUTSIDE: (WHOLE, 0),
    }
    assert by_thread(recording, write) == dict.fromkeys(range(4), (0, PART))
    found = phases(recording)
    assert (found[write]["line"], found[write]["repetitions"]) == (line_of("write"), 1)
    assert (found[read]["line"], found[read]["repetitions"]) == (line_of("read"), 5)
    assert Path(found[read]["file"]).name == "phases.c"


def test_spans_follow_each_other(record: Any) -> None:
    recording = record("phases", "regions", 5)
    spans = recording.trace.phase_spans
    assert spans["phase"].to_list() == [0, 1, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0]
    assert spans["start_ns"].to_list()[1:] == spans["end_ns"].to_list()[:-1]
    for row in recording.trace.phases.iter_rows(named=True):
        own = spans.filter(pl.col("phase") == row["phase"])
        assert row["start_ns"] == own["start_ns"].min()
        assert row["end_ns"] == own["end_ns"].max()


def test_first_touches_have_the_phase(record: Any) -> None:
    recording = record("phases", "regions", 5)
    data = recording.trace.structures.filter(pl.col("name") == "data").select("structure")
    touched = recording.trace.first_touch.join(data, on="structure", how="semi")
    assert touched["phase"].to_list() == [1] * 8


@pytest.mark.parametrize("program", COMPILED)
def test_nested_regions_belong_to_the_outer_one(record: Any, program: str) -> None:
    recording = record(program, "nested")
    assert by_phase(recording) == {
        OUTSIDE: (0, WHOLE),
        region("nested", "outer"): (WHOLE + 2 * PART, 2 * PART),
    }
    assert recording.trace.phases.height == 2


def test_regions_of_fortran(record: Any) -> None:
    recording = record("phases_fortran")
    directive = 1 + next(
        i for i, line in enumerate(FORTRAN.read_text().splitlines()) if "region: steps" in line
    )
    trace = recording.trace
    steps = trace.phases.filter(pl.col("line") == directive)
    assert steps.select("repetitions").rows() == [(3,)]
    sums = trace.accesses.group_by("phase").agg(pl.col("writes").sum())
    assert sums.filter(pl.col("phase") == steps["phase"].item())["writes"].item() >= 3 * 4096
    marked = trace.phases.filter(pl.col("name") == "marked")
    assert sums.filter(pl.col("phase") == marked["phase"].item())["writes"].item() >= 512


def test_many_repetitions_stay_one_phase_and_few_spans(record: Any) -> None:
    recording = record("phases", "loop", 50_000)
    loop = region("loop", "loop")
    assert by_phase(recording) == {loop: (0, 100_000)}
    assert phases(recording)[loop]["repetitions"] == 50_000
    assert 10_000 < recording.trace.phase_spans.height <= 20_000


@pytest.mark.parametrize("program", COMPILED)
def test_marks_are_phases(record: Any, program: str) -> None:
    recording = record(program, "marks", 6)
    assert by_phase(recording) == {
        "write": (0, WHOLE),
        "read": (2 * WHOLE, 0),
        "add": (6 * PART, 6 * PART),
        OUTSIDE: (PART + 1, 1),
    }
    found = phases(recording)
    assert {name: row["repetitions"] for name, row in found.items()} == {
        "write": 1,
        "read": 1,
        "add": 6,
        OUTSIDE: 3,
    }
    assert found["add"]["line"] == 1 + SOURCE.index('        numascape_phase("add");')


def test_marks_need_no_symbols(record: Any) -> None:
    whole, stripped = record("phases", "marks", 6), record("phases_stripped", "marks", 6)
    assert list(phases(stripped)) == list(phases(whole))

    def sums(recording: Any) -> dict[str, list[Any]]:
        rows: pl.DataFrame = recording.trace.accesses.filter(pl.col("phase") > 0)
        sums = rows.group_by("phase").agg(pl.col("reads", "writes").sum()).sort("phase")
        return sums.to_dict(as_series=False)

    assert sums(stripped) == sums(whole)


def test_marks_in_a_library_that_is_loaded_late(record: Any) -> None:
    recording = record("phases", "plugin")
    assert recording.status == 0
    assert by_phase(recording) == {"in the library": (0, PART)}


def test_marks_hold_for_all_threads(record: Any) -> None:
    recording = record("phases", "marking threads")
    for step, name in enumerate(["zero", "one", "two", "three"]):
        assert by_thread(recording, name) == dict.fromkeys(range(1, 5), (0, 512 * (step + 1)))


def test_regions_do_not_count_under_a_mark(record: Any) -> None:
    recording = record("phases", "marked region")
    assert by_phase(recording) == {
        "mine": (4 * 512, 4 * 512),
        region("marked_region", "unmarked"): (WHOLE, 0),
    }
    assert recording.trace.phases.height == 3


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ("regions", 3),
        ("marks", 2),
        ("none", 1),
    ],
)
def test_what_is_a_phase_can_be_chosen(record: Any, chosen: str, expected: int) -> None:
    recording = record("phases", "marked region", phases=chosen)
    assert recording.trace.phases.height == expected
    assert recording.total("data") == (4 * 512 + WHOLE, 4 * 512)
    if chosen == "none":
        assert recording.trace.phases["name"].to_list() == ["run"]


def test_programs_without_phases_have_one(record: Any) -> None:
    trace = record("phases", "timed", 1).trace
    assert trace.phases.select("phase", "name", "repetitions").rows() == [(0, "run", 1)]
    assert trace.phase_spans.rows() == [(0, 0, trace.phases["end_ns"].item())]


def test_time_slices_hold_every_access(record: Any) -> None:
    recording = record("phases", "timed", 1200, every=0.25)
    assert recording.total("data") == (0, int(recording.output) * WHOLE)
    names = recording.trace.phases["name"].to_list()
    slices = ["0.00", "0.25", "0.50", "0.75"]
    expected = [f"{a}\N{EN DASH}{b} s" for a, b in pairwise(slices)]
    assert names[:4] == [OUTSIDE, *expected]
    assert len(by_phase(recording)) >= 4


SLICE_S = 0.25
STEPS = 6
# The time between two steps is longer than a slice, so each step is in a slice of its own.
GROWS = f"""
import time
kept = []
for _ in range({STEPS}):
    kept.append(bytes(4 << 20))
    kept.append(bytearray(b"x") * (4 << 20))
    later = time.monotonic() + {SLICE_S}
    while time.monotonic() < later:
        time.sleep(0.01)
"""


@pytest.mark.parametrize("event", [None, "page-faults"])
def test_page_faults_and_samples_are_in_their_time_slice(record: Any, event: str | None) -> None:
    options = {"recorder": "samples", "event": event} if event else {"recorder": "faults"}
    trace = record(sys.executable, "-c", GROWS, every=SLICE_S, **options).trace
    spans = trace.phase_spans.sort("start_ns").rename({"phase": "slice"})
    touched = trace.first_touch.filter(pl.col("phase") > 0).sort("time_ns")
    within = touched.join_asof(spans, left_on="time_ns", right_on="start_ns")
    assert touched["phase"].n_unique() >= STEPS
    # The kernel and the recorder use different clocks: a fault just after a switch may seem
    # earlier.
    assert (within["phase"] == within["slice"]).mean() > 0.9
    if event:
        assert trace.accesses["phase"].n_unique() >= STEPS


def test_blocks_that_are_given_back_keep_each_phase(record: Any) -> None:
    counts = by_phase(record("phases", "reuse"), "block")
    # A block shares its first and last page with the allocator.
    words = 64 * 512
    for name, reads in [("first", 1), ("second", 2), ("third", 3)]:
        assert reads * words * 62 / 64 <= counts[name][0] <= reads * words
    assert 3 * words * 62 / 64 <= counts["write"][1] <= 3 * words


def test_a_child_is_in_the_phase_that_it_was_made_in(record: Any) -> None:
    recording = record("phases", "forking")
    forking = region("forking", "forking")
    assert by_phase(recording, process=0) == {forking: (0, 2 * PART), OUTSIDE: (PART, 0)}
    # The child's own region is inside the region in which it was forked.
    assert by_phase(recording, "other", process=1) == {forking: (512, 1024)}


@pytest.mark.parametrize("program", ["phases", "phases_clang"])
def test_a_killed_process_keeps_its_phases(record: Any, program: str) -> None:
    recording = record(program, "killed")
    assert recording.status == 128 + signal.SIGKILL
    killed = region("killed", "killed")
    assert by_thread(recording, killed) == dict.fromkeys(range(4), (0, PART))
    row = phases(recording)[killed]
    assert row["repetitions"] == 1
    assert row["end_ns"] > row["start_ns"]


Limited = Callable[..., Any]


@pytest.fixture
def limited(
    programs: Path, opened: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Limited:
    """Return limited(tables, *arguments) -> Recording, with this small number of tables."""

    def run(tables: int, *arguments: str) -> Any:
        given = binary.client_options
        monkeypatch.setattr(binary, "client_options", lambda s: f"{given(s)} -tables {tables}")
        target = tmp_path / "run.numascape"
        command = [str(programs / "phases"), *arguments]
        session = begin_session(target, command, RecordOptions("binary"))
        session = dataclasses.replace(session, ended=binary.run(session))
        session.save()
        convert_session(session, target, lambda _: None)
        return opened(target)

    return run


def test_phases_share_few_tables(limited: Limited) -> None:
    recording = limited(4, "many", "10", "3")
    assert by_phase(recording) == {f"phase {i}": (0, 3) for i in range(10)}


def test_threads_share_few_tables(limited: Limited) -> None:
    recording = limited(6, "marking threads")
    for step, name in enumerate(["zero", "one", "two", "three"]):
        assert by_thread(recording, name) == dict.fromkeys(range(1, 5), (0, 512 * (step + 1)))


def test_phases_that_come_and_go_too_often_are_folded(limited: Limited) -> None:
    recording = limited(4, "many", "10", "40")
    counts = by_phase(recording)
    assert "further phases" in counts
    assert sum(writes for _, writes in counts.values()) == 400
    assert any("further phases" in sentence for sentence in recording.trace.info.unseen)


def is_working(time: ProcessTime) -> bool:
    time.look()
    return bool(time.seconds)


@pytest.mark.parametrize("program", ["phases", "phases_clang"])
@pytest.mark.parametrize("passes", [100, 300_000])  # regions of a millisecond, and of seconds
def test_attached_in_the_midst_of_regions(
    programs: Path, opened: Any, tmp_path: Path, program: str, passes: int
) -> None:
    target = tmp_path / "run.numascape"
    with subprocess.Popen(
        [programs / program, "endless", str(passes)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        # OpenMP's waiting threads also make accesses, so the usual number would be reached too
        # early.
        recorder = record_running(process.pid, target, "--seconds", "2")
        left = ProcessTime(process.pid)
        wait_for(lambda: is_working(left))  # without the recorder
        os.kill(process.pid, signal.SIGUSR1)
        assert process.wait(300) == 0
    assert recorder.returncode == 0, recorder.stderr
    recording = opened(target)
    reads, writes = recording.total("data")
    assert reads == 0
    assert writes > 0
    if passes == 100:
        # In clang 19's debug information, the region is at the loop after its pragma.
        at, _, line = region("endless", "endless").rpartition(":")
        names = {f"{at}:{line}", f"{at}:{int(line) + 1}"}
        begun = [row for name, row in phases(recording).items() if name in names]
        assert [row["repetitions"] > 1 for row in begun] == [True]


def test_marks_do_nothing_natively(programs: Path) -> None:
    assert subprocess.run([programs / "phases", "marks", "6"], check=False).returncode == 0
    text = subprocess.run(
        ["objdump", "-d", programs / "phases"], capture_output=True, text=True, check=True
    ).stdout
    marks = [line for line in text.splitlines() if "0x4e554d41(" in line]
    assert len(marks) >= 5
    assert all("nop" in line for line in marks)
