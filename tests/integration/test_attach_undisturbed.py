# SPDX-License-Identifier: Apache-2.0
"""A process computes, waits and handles signals as before when a recorder attaches to it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from integration.attaching import Attach, end, running, wait_for

# Enough attaches, so that some find a thread at each possible place.
CYCLES = 4


@pytest.mark.parametrize("threads", [0, 2])
def test_all_registers_are_kept(programs: Path, threads: int, attach: Attach) -> None:
    with running(programs / "registers", str(threads)) as process:
        for _ in range(CYCLES):
            attach(process.pid, seconds=0.2)
        assert end(process) == ("right\n", 42)


def test_handlers_of_faults_and_blocked_signals_are_kept(programs: Path, attach: Attach) -> None:
    with running(programs / "own_faults") as process:
        for _ in range(CYCLES):
            attach(process.pid, seconds=0.2)
        assert end(process) == ("right\n", 42)


def test_calls_that_wait_go_on_waiting(programs: Path, attach: Attach) -> None:
    with running(programs / "waits") as process:
        for _ in range(2):
            attach(process.pid, seconds=0.2)
        assert end(process) == ("right\n", 42)


@contextmanager
def stopped_once(program: Path) -> Iterator[subprocess.Popen[str]]:
    with running(program) as process:
        wait_for(lambda: all_are(process.pid, "S"))
        process.send_signal(signal.SIGSTOP)
        wait_for(lambda: all_are(process.pid, "T"))
        process.send_signal(signal.SIGCONT)
        # The calls that the stop ended have returned, and the others wait again.
        wait_for(lambda: all_are(process.pid, "S"))
        yield process


def all_are(pid: int, state: str) -> bool:
    """Whether all threads are asleep (S) or stopped (T)."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    try:
        return all(f"State:\t{state}" in (task / "status").read_text() for task in tasks)
    except (FileNotFoundError, ProcessLookupError):  # a thread has just ended
        return False


def test_waits_go_on_that_were_stopped_before(programs: Path, attach: Attach) -> None:
    # The kernel itself ends some calls at a stop: see signal(7).
    with stopped_once(programs / "waits") as process:
        natively = sorted(end(process)[0].splitlines())
    with stopped_once(programs / "waits") as process:
        attach(process.pid, seconds=0.2)
        assert sorted(end(process)[0].splitlines()) == natively


def test_short_waits_end_on_time(programs: Path, attach: Attach) -> None:
    with running(programs / "waits_often") as process:
        for _ in range(CYCLES):
            attach(process.pid, seconds=0.2)
        assert end(process) == ("right\n", 42)


def test_timers_go_on(programs: Path, attach: Attach) -> None:
    with running(programs / "timers") as process:
        for _ in range(2):
            attach(process.pid, seconds=0.2)
        assert end(process) == ("right\n", 42)


def test_the_red_zone_stays_as_it_is(programs: Path, attach: Attach) -> None:
    with running(programs / "red_zone") as process:
        for _ in range(2):
            attach(process.pid, seconds=0.1)
        assert end(process) == ("right\n", 42)


def test_a_stack_pointer_may_be_a_number_and_sigtrap_blocked(
    programs: Path, attach: Attach
) -> None:
    with running(programs / "no_stack") as process:
        for _ in range(2):
            attach(process.pid, seconds=0.2)
        output, _ = process.communicate("x", timeout=300)
        assert (output, process.returncode) == ("", 42)


def test_memory_that_nobody_touched_stays_so(programs: Path, attach: Attach) -> None:
    with running(programs / "unfilled") as process:
        for _ in range(2):
            attach(process.pid, seconds=0.2)
        assert end(process) == ("right\n", 42)


# Threads start children, which share the memory until they execute a program.
SPAWNING = """
import os, signal, threading
stop = threading.Event()
signal.signal(signal.SIGUSR1, lambda *_: stop.set())
wrong = []
def work():
    while not stop.is_set():
        child = os.posix_spawn("/bin/true", ["true"], {})
        wrong.extend(status for status in [os.waitpid(child, 0)[1]] if status)
thread = threading.Thread(target=work)
thread.start()
print("ready", flush=True)
work()
thread.join()
print(wrong or "right")
"""


def held(pid: int) -> tuple[int, int, int]:
    """The numbers of descriptors, mappings, and pages of address space."""
    process = Path(f"/proc/{pid}")
    return (
        len(list((process / "fd").iterdir())),
        len((process / "maps").read_text().splitlines()),
        int((process / "statm").read_text().split()[0]),
    )


def test_nothing_is_left_of_children_that_executed_programs(attach: Attach) -> None:
    with running(Path(sys.executable), "-c", SPAWNING) as process:
        shards = []
        for _ in range(2):
            attach(process.pid, seconds=0.5)
            maps = Path(f"/proc/{process.pid}/maps").read_text().splitlines()
            shards.append([line for line in maps if ".shard" in line])
        assert end(process) == ("right\n", 0)
    assert shards == [[], []]


def test_nothing_more_is_left_after_more_attaches(programs: Path, attach: Attach) -> None:
    with running(programs / "registers", "1") as process:
        before = len(list(Path(f"/proc/{process.pid}/fd").iterdir()))
        seen = []
        for _ in range(4):
            attach(process.pid, seconds=0.1)
            seen.append(held(process.pid))
        assert end(process) == ("right\n", 42)
    # The thread of a release may not have ended yet, so its stack may still exist.
    assert [descriptors for descriptors, _, _ in seen] == [before] * 4
    assert max(mappings for _, mappings, _ in seen[2:]) <= seen[1][1] + 1
    assert max(pages for _, _, pages in seen[2:]) <= seen[1][2] + 64
