# SPDX-License-Identifier: Apache-2.0
"""A constructed copy of /proc and /sys with a process, in the kernel's format."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from numascape.live.targets import TargetProcess, target_of

PID = 4242
STARTED = 987_654

MAPS = """\
55f0c0000000-55f0c0004000 r-xp 00000000 08:01 131073                     /opt/llm/server
55f0c0004000-55f0c0006000 rw-p 00004000 08:01 131073                     /opt/llm/server
55f0c1000000-55f0c1100000 rw-p 00000000 00:00 0                          [heap]
7f0000000000-7f0000800000 r--s 00000000 08:01 262145                     /models/my model.gguf
7f1000000000-7f1000400000 rw-s 00000000 00:01 32768                      /SYSV0052e2c1 (deleted)
7f1100000000-7f1100400000 rw-s 00000000 00:1a 7                          /dev/shm/PostgreSQL.1234
7f1200000000-7f1200400000 rw-s 00000000 00:01 9                          /dev/zero (deleted)
7f1300000000-7f1300400000 rw-p 00000000 00:00 0                          [anon:arena of ours]
7f1400000000-7f1400021000 rw-p 00000000 00:00 0 
7f1400021000-7f1404000000 ---p 00000000 00:00 0 
7f1500000000-7f1500800000 rw-p 00000000 00:00 0 
7f1600000000-7f1680000000 rw-p 00000000 00:0f 12345                      /anon_hugepage (deleted)
7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0                          [stack]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
"""  # noqa: W291
NUMA_MAPS = """\
55f0c0000000 default file=/opt/llm/server mapped=4 mapmax=2 N0=4 kernelpagesize_kB=4
55f0c1000000 default heap anon=256 dirty=256 N0=200 N1=56 kernelpagesize_kB=4
7f0000000000 default file=/models/my\\040model.gguf mapped=2048 N0=2048 kernelpagesize_kB=4
7f1500000000 interleave:0-1 anon=2048 dirty=2048 N0=1024 N1=1024 kernelpagesize_kB=4
7f1600000000 bind:1 file=/anon_hugepage huge anon=4 dirty=4 N1=4 kernelpagesize_kB=2048
7ffd00000000 default stack anon=3 dirty=3 N0=3 kernelpagesize_kB=4
"""


def stat_line(pid: int, name: str, started: int = STARTED, cpu: int = 0, state: str = "S") -> str:
    """Fields 3 to 52 of /proc/PID/stat; field 22 is the start, and field 39 the CPU."""
    fields = [state, *("0" for _ in range(49))]
    fields[19], fields[36] = str(started), str(cpu)
    return f"{pid} ({name}) {' '.join(fields)}\n"


MakeProcess = Callable[..., Path]


@pytest.fixture
def make_process(tmp_path: Path) -> MakeProcess:
    """Make the folder of a process in tmp_path/proc."""

    def make(pid: int = PID, name: str = "server", command: str = "/opt/llm/server") -> Path:
        folder = tmp_path / "proc" / str(pid)
        folder.mkdir(parents=True)
        (folder / "stat").write_text(stat_line(pid, name))
        (folder / "comm").write_text(f"{name}\n")
        (folder / "cmdline").write_bytes(command.encode() + b"\0-x\0" if command else b"")
        (folder / "maps").write_text(MAPS)
        (folder / "numa_maps").write_text(NUMA_MAPS)
        return folder

    return make


@pytest.fixture
def target(make_process: MakeProcess, tmp_path: Path) -> TargetProcess:
    """The process of MAPS, with two threads, on a machine with two nodes of two CPUs."""
    folder = make_process()
    for node in range(2):
        place = tmp_path / f"sys/devices/system/node/node{node}"
        place.mkdir(parents=True)
        (place / "cpulist").write_text(f"{2 * node}-{2 * node + 1}\n")
    for tid, name, cpu, cpus, pointer in (
        (PID, "server", 1, "0-3", 0x7FFD00020000),
        (PID + 1, "worker", 3, "2-3", 0x7F1500700010),
    ):
        task = folder / "task" / str(tid)
        task.mkdir(parents=True)
        (task / "stat").write_text(stat_line(tid, name, STARTED + tid - PID, cpu))
        (task / "status").write_text(f"Name:\t{name}\nCpus_allowed_list:\t{cpus}\n")
        (task / "syscall").write_text(f"202 0x1 0x2 0x3 0x4 0x5 0x6 {pointer:#x} 0x7f11\n")
    found = target_of(PID, tmp_path)
    assert found is not None
    return found


def pagemap(path: Path, pages: dict[int, int]) -> Path:
    """Write a pagemap with these entries by the number of the page; other pages are holes."""
    with path.open("wb") as file:
        for page, entry in pages.items():
            file.seek(8 * page)
            file.write(struct.pack("<Q", entry))
        file.truncate(8 * (max(pages) + 512))
    return path
