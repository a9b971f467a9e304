# SPDX-License-Identifier: Apache-2.0
"""A running process is recorded for a while, and then continues as before."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from integration.attaching import (
    COMMAND,
    Attach,
    end,
    expect_refusal,
    is_free,
    running,
    wait_for,
    wait_for_accesses,
)
from integration.conftest import Record
from numascape.trace import Trace
from numascape.trace.format import PAGE_BYTES

WORDS = 64 * 1024 // 8
WORDS_PER_PAGE = 512
RELEASER = "numascape"
# After this number of accesses, threads of `attached` are in their loops, which read `source`.
BEGUN = 20 * WORDS
# Of random_places.c
RANDOM_PLACES = (0x0C81, 0x0D82, 0x0F83, 0x1F04, 0x2A85, 0x3E06, 0x4A07, 0x5208)


@pytest.mark.parametrize("threads", [0, 1, 4])
def test_a_running_process_is_counted_and_released(
    programs: Path, threads: int, attach: Attach
) -> None:
    with running(programs / "attached", str(threads)) as process:
        recording = attach(process.pid)
        assert is_free(process.pid)
        assert end(process) == ("right\n", 42)

    copying = max(threads, 0) + 1  # main copies as well
    reads, writes = recording.total("source")[0], recording.total("target")[1]
    # Each word that is read is also written. The counts differ only at the instructions at which a
    # thread was taken over or released.
    assert reads > WORDS
    assert abs(reads - writes) <= 2 * copying
    assert recording.total("source")[1] == 0
    assert recording.total("target")[0] == 0
    pages = recording.pages("source")
    assert set(pages) == set(range(WORDS // WORDS_PER_PAGE))
    counts = [page_reads for page_reads, _ in pages.values()]
    # Each pass reads all pages equally; a thread's first and last pass are partial.
    assert max(counts) - min(counts) <= 2 * copying * WORDS_PER_PAGE
    assert len(recording.trace.threads) == threads + 1
    assert any("already running" in sentence for sentence in recording.trace.info.unseen)


def test_lines_from_memory_are_counted_while_attached(programs: Path, attach: Attach) -> None:
    with running(programs / "attached", "0") as process:
        recording = attach(process.pid, "--traffic", "--cache", "32K,8,64")
        assert end(process) == ("right\n", 42)
    # Both arrays, of 64 KiB each, evict each other: every eighth word is the first of a line.
    reads = recording.total("source")[0]
    assert reads > WORDS
    for structure, dirtied in (("source", False), ("target", True)):
        rows = recording.rows(structure)
        # The lines at which it was taken over and released are exceptions: some words are not seen.
        assert abs(8 * int(rows["memory_lines"].sum()) - reads) <= 64
        # Lines that are dirty at the end have not been written back yet.
        written = int(rows["written_lines"].sum())
        assert abs(8 * written - reads) <= 32 << 10 if dirtied else written == 0


def test_blocks_allocated_while_attached_are_structures(programs: Path, attach: Attach) -> None:
    with running(programs / "attached", "0") as process:
        recording = attach(process.pid, seconds=2)  # long, compared with the release
        end(process)
    blocks = recording.trace.structures.filter(pl.col("name") == "block")
    assert blocks["kind"].to_list() == ["heap"]
    assert blocks["size"].to_list() == [3 * 4096]
    instances = int(blocks["instances"][0])
    passes = recording.total("target")[1] / WORDS
    # From the moment of release until all threads are released, allocations are not noted: for a
    # few milliseconds, or on a busy machine for a large part of the recording.
    assert 0.5 * passes <= instances <= passes + 2
    # The program writes eight words, and malloc writes its own data around the block.
    assert recording.total("block")[1] >= 8 * (instances - 1)


def test_stacks_and_executable_are_known_by_name(programs: Path, attach: Attach) -> None:
    with running(programs / "attached", "2") as process:
        recording = attach(process.pid)
        end(process)
    assert Path(recording.trace.info.program).name == "attached"
    assert recording.trace.info.arguments == ("2",)
    assert recording.trace.info.attributed_share > 0.95
    assert recording.trace.threads["process"].to_list() == [0, 0, 0]


def test_a_process_asleep_in_a_call_is_recorded_and_sleeps_on(
    programs: Path, attach: Attach
) -> None:
    with running(programs / "attached", "1", "asleep") as process:
        recording = attach(process.pid)
        assert recording.total("source")[0] > WORDS
        output, _ = process.communicate("x", timeout=300)
    assert (output, process.returncode) == ("right\n", 42)


def test_a_process_of_which_all_threads_sleep_is_released(programs: Path, attach: Attach) -> None:
    with running(programs / "attached", "0", "asleep") as process:
        attach(process.pid, seconds=0.5)
        assert is_free(process.pid)
        output, _ = process.communicate("x", timeout=300)
    assert (output, process.returncode) == ("right\n", 42)


def test_threads_in_one_page_of_code_and_signals_are_unharmed(
    programs: Path, attach: Attach
) -> None:
    with running(programs / "shared_page") as process:
        for _ in range(3):
            recording = attach(process.pid, seconds=0.2)
            assert len(recording.trace.threads) == 2
        assert end(process) == ("right\n", 42)


def test_all_registers_are_the_programs_after_release(programs: Path, attach: Attach) -> None:
    with running(programs / "returns") as process:
        for _ in range(3):
            attach(process.pid, seconds=0.2)
        assert end(process) == ("right\n", 42)


def test_the_recorders_own_thread_takes_no_signal_to_the_process(
    programs: Path, tmp_path: Path
) -> None:
    with running(programs / "attached", "1") as process:
        recorder = subprocess.Popen(
            [COMMAND, "record", "-q", "-o", tmp_path / "run.numascape", "--pid", f"{process.pid}"]
        )
        wait_for(lambda: RELEASER in blocked_signals(process.pid))
        # The thread now waits. Before that, DynamoRIO controls it, or it has not started.
        wait_for(lambda: signal.SIGUSR1 in blocked_signals(process.pid).get(RELEASER, set()))
        blocked = blocked_signals(process.pid)[RELEASER]
        recorder.terminate()
        assert recorder.wait(300) == 0
        assert end(process) == ("right\n", 42)
    assert signal.SIGILL not in blocked  # DynamoRIO's, to the thread
    assert {signal.SIGALRM, signal.SIGTERM, signal.SIGTRAP} <= blocked


def test_the_end_is_asked_for_while_the_process_is_taken_over(
    programs: Path, tmp_path: Path
) -> None:
    with running(programs / "attached", "1") as process:
        recorder = subprocess.Popen(
            [COMMAND, "record", "-q", "-o", tmp_path / "run.numascape", "--pid", f"{process.pid}"]
        )
        wait_for(lambda: is_traced(process.pid) or not is_free(process.pid))
        recorder.terminate()
        assert recorder.wait(300) == 0
        assert is_free(process.pid)
        assert end(process) == ("right\n", 42)


def is_traced(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("TracerPid:")[2].split()[0]) != 0


def blocked_signals(pid: int) -> dict[str, set[int]]:
    """The threads of the process, by name."""
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            name = (task / "comm").read_text().strip()
            status = (task / "status").read_text()
        except OSError:
            continue
        mask = int(status.partition("SigBlk:")[2].split()[0], 16)
        found[name] = {number for number in range(1, 65) if mask >> (number - 1) & 1}
    return found


def test_attaching_twice(programs: Path, attach: Attach) -> None:
    with running(programs / "attached", "1") as process:
        for _ in range(2):
            recording = attach(process.pid)
            assert recording.total("source")[0] > 0
        assert end(process) == ("right\n", 42)


def test_until_the_process_ends(programs: Path, tmp_path: Path, opened: Any) -> None:
    trace = tmp_path / "run.numascape"
    with running(programs / "attached", "1") as process:
        recorder = subprocess.Popen(
            [COMMAND, "record", "-q", "-o", trace, "--pid", f"{process.pid}"]
        )
        wait_for_accesses(tmp_path, BEGUN)
        assert end(process) == ("right\n", 42)
        assert recorder.wait(300) == 0
    assert opened(trace).total("source")[0] > 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupting_the_recorder_releases_and_keeps(
    programs: Path, tmp_path: Path, number: signal.Signals, opened: Any
) -> None:
    trace = tmp_path / "run.numascape"
    with running(programs / "attached", "1") as process:
        recorder = subprocess.Popen(
            [COMMAND, "record", "-q", "-o", trace, "--pid", f"{process.pid}"],
            process_group=0,
        )
        wait_for_accesses(tmp_path, BEGUN)
        os.killpg(recorder.pid, number)  # as a terminal does
        assert recorder.wait(300) == 0
        assert is_free(process.pid)
        assert end(process) == ("right\n", 42)
    assert opened(trace).total("source")[0] > 0


def test_killing_the_recorder_releases_and_can_be_converted(
    programs: Path, tmp_path: Path, opened: Any
) -> None:
    trace = tmp_path / "run.numascape"
    with running(programs / "attached", "1") as process:
        recorder = subprocess.Popen(
            [COMMAND, "record", "-q", "-o", trace, "--pid", f"{process.pid}"]
        )
        wait_for_accesses(tmp_path, BEGUN)
        recorder.kill()
        recorder.wait()
        wait_for(lambda: is_free(process.pid))
        assert end(process) == ("right\n", 42)
    [session] = tmp_path.glob("*.recording-*")
    subprocess.run([COMMAND, "convert", "-q", session, "-o", trace], check=True)
    assert opened(trace).total("source")[0] > 0
    assert opened(trace).trace.info.exit_status is None
    shown = subprocess.run([COMMAND, "show", trace], check=True, capture_output=True, text=True)
    assert "its end was not seen" in " ".join(shown.stdout.split())


def test_no_such_process(tmp_path: Path) -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    expect_refusal(child.pid, tmp_path, "no process")


def test_a_process_that_ended_but_is_not_waited_for(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    try:
        wait_for(lambda: Path(f"/proc/{child}/stat").read_text().rpartition(") ")[2][0] == "Z")
        expect_refusal(child, tmp_path, "ended")
    finally:
        os.waitpid(child, 0)


def test_a_recorded_process_is_refused(programs: Path, tmp_path: Path) -> None:
    trace = tmp_path / "first.numascape"
    elsewhere = tmp_path / "second"
    elsewhere.mkdir()
    with running(programs / "attached", "1") as process:
        recorder = subprocess.Popen(
            [COMMAND, "record", "-q", "-o", trace, "--pid", f"{process.pid}"]
        )
        wait_for_accesses(tmp_path, BEGUN)
        expect_refusal(process.pid, elsewhere, "recorded already")
        recorder.terminate()
        assert recorder.wait(300) == 0
        assert end(process) == ("right\n", 42)


def test_a_stopped_process_is_refused(programs: Path, tmp_path: Path) -> None:
    with running(programs / "attached", "0") as process:
        process.send_signal(signal.SIGSTOP)
        wait_for(lambda: " T " in Path(f"/proc/{process.pid}/stat").read_text())
        expect_refusal(process.pid, tmp_path, "stopped")
        process.send_signal(signal.SIGCONT)
        assert end(process) == ("right\n", 42)


def test_a_thread_is_refused(programs: Path, tmp_path: Path) -> None:
    with running(programs / "attached", "1") as process:
        [thread] = {int(task.name) for task in Path(f"/proc/{process.pid}/task").iterdir()} - {
            process.pid
        }
        expect_refusal(thread, tmp_path, f"use --pid {process.pid}")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_users_process_is_refused(programs: Path, tmp_path: Path) -> None:
    # Another user may not read the installation, so this runs only the check itself.
    attach = Path(sysconfig.get_path("platlib")) / "numascape/_recorder/numascape-attach"
    helper = shutil.copy(attach, tmp_path)
    tmp_path.chmod(0o777)
    for parent in tmp_path.parents[:3]:
        parent.chmod(0o755)
    with running(programs / "attached", "0") as process:
        finished = subprocess.run(
            [helper, tmp_path, tmp_path, "", str(process.pid), "1"], user=65534, check=False
        )
        assert finished.returncode == 125
        assert "another user" in (tmp_path / "launch-error").read_text()
        assert end(process) == ("right\n", 42)


def _expect_pages_at_all_places(trace: Trace) -> None:
    """All pages of the eight mappings of `random_places` are known, on the only node."""
    sizes = {place << 32: 4 * PAGE_BYTES for place in RANDOM_PLACES}
    places = trace.instances.filter(pl.col("address").is_in(list(sizes)))
    assert dict(places.select("address", "size").iter_rows()) == sizes
    keys = ["structure", "instance"]
    used = trace.accesses.filter(pl.col("writes") > 0).join(places, on=keys)
    written = used.group_by("address").agg(pl.col("page").n_unique())
    assert dict(written.iter_rows()) == dict.fromkeys(sizes, 4)
    placed = trace.placement.filter(pl.col("node") >= 0).join(places, on=keys)
    assert placed.select("address", "page").n_unique() == 4 * len(sizes)


def test_memory_from_before_is_known_wherever_it_is(programs: Path, attach: Attach) -> None:
    with running(programs / "random_places") as process:
        recording = attach(process.pid)
        assert end(process) == ("", 42)
    _expect_pages_at_all_places(recording.trace)


@pytest.mark.parametrize("recorder", ["record", "compiled"])
def test_the_nodes_of_pages_are_known_wherever_they_are(
    request: pytest.FixtureRequest, recorder: str
) -> None:
    record: Record = request.getfixturevalue(recorder)
    _expect_pages_at_all_places(record("random_places", "once").trace)


def test_static_programs_that_it_starts_are_recorded(tmp_path: Path, attach: Attach) -> None:
    # The loader of such a program cannot load a recorder.
    source, program = tmp_path / "writer.c", tmp_path / "writer"
    source.write_text(
        "static volatile char written[40 * 4096];\n"
        "int main(void) { for (int i = 0; i < (int)sizeof written; i++) written[i] = 1; }\n"
    )
    subprocess.run(["gcc", "-static", "-g", "-o", program, source], check=True)
    script = tmp_path / "starter"
    script.write_text(f"#!/bin/sh\necho ready\nwhile :; do {program}; done\n")
    script.chmod(0o755)
    with running(script) as process:
        recording = attach(process.pid)
    ended = [each for each in recording.trace.info.processes if each.program == str(program)]
    assert len(ended) >= 2
    times = recording.total("written")[1] / (40 * 4096)
    # The last child may still run when the recorder leaves. Samples divide the page that the
    # variable shares with others.
    assert len(ended) - 1 <= times <= len(ended) + 0.01
