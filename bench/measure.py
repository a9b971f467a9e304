# SPDX-License-Identifier: Apache-2.0
"""Runs a command, measures its cost, and describes the machine."""

import os
import platform
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Cost:
    """Seconds; CPU is user and system time of the command and of its awaited children.

    The peak is the resident set of the largest of these processes.
    """

    cpu_s: float
    wall_s: float
    peak_bytes: int = 0


class CommandError(Exception):
    """A measured command failed."""


def run(command: Sequence[str]) -> Cost:
    """Run a command to its end, and discard its output.

    Raises CommandError with the end of its standard error when it fails.
    """
    with tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            errors.seek(0)
            tail = errors.read()[-500:].decode(errors="replace")
            raise CommandError(f"{' '.join(command)}: status {process.returncode}\n{tail}")
    return Cost(usage.ru_utime + usage.ru_stime, wall_s, usage.ru_maxrss * 1024)


def _descendants(pid: int) -> list[int]:
    """Descendants of `pid` that execute another program; a fork before its exec does not count."""
    found = []
    own = Path(f"/proc/{pid}/exe").readlink()
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            if Path(f"/proc/{child}/exe").readlink() != own:
                found.append(child)
            found += _descendants(child)
    return found


def _memory_kib(pid: int) -> int:
    """Peak resident set and page tables of a process."""
    fields = {}
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name in ("VmHWM", "VmPTE"):
            fields[name] = int(value.split()[0])
    return sum(fields.values())


def peak_memory(command: Sequence[str], below: bool) -> int:
    """Bytes of memory at the peak of a command's process or, `below`, of the largest descendant.

    Sampled every few milliseconds. The kernel keeps the peak of the resident set, so only a peak in
    the last milliseconds of the process is missed.
    """
    peak = 0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ended = threading.Event()

    def sample() -> None:
        nonlocal peak
        while not ended.wait(0.003):
            with suppress(OSError):  # the process has ended in the meantime
                for pid in _descendants(process.pid) if below else [process.pid]:
                    peak = max(peak, _memory_kib(pid))

    sampler = threading.Thread(target=sample)
    sampler.start()
    status = process.wait()
    ended.set()
    sampler.join()
    if status != 0:
        raise CommandError(f"{' '.join(command)}: status {status}")
    return peak * 1024


def machine() -> dict[str, str | int]:
    """The facts about the machine that a reader needs to judge the numbers."""
    model = "unknown processor"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    flags = Path("/proc/cpuinfo").read_text()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": model,
        "cpus": os.cpu_count() or 0,
        "virtual": "hypervisor" in flags,
        "nodes": len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))) or 1,
        "memory_gib": round(memory / 2**30),
        "kernel": platform.release(),
        "date": time.strftime("%Y-%m-%d"),
    }
