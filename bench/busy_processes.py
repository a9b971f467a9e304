# SPDX-License-Identifier: Apache-2.0
"""Processes that do a given amount of work, to be watched from outside."""

from __future__ import annotations

import getpass
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

# Sends the given number of requests to memcached, ten at a time.
ASKS: Final = """
import socket, sys
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(sys.argv[1])
    stream = connection.makefile("rwb")
    for i in range(int(sys.argv[2]) // 10):
        for key in range(i, i + 10):
            stream.write(b"set key%d 0 0 200\\r\\n%b\\r\\n" % (key % 5000, bytes(200)))
        stream.flush()
        for _ in range(10):
            assert stream.readline() == b"STORED\\r\\n"
"""
# Touches new memory, and gives it back. The argument is the number of its other mappings.
TOUCHES: Final = """
import mmap, sys
rights = (mmap.PROT_READ, mmap.PROT_READ | mmap.PROT_WRITE)
kept = [mmap.mmap(-1, 8192, prot=rights[i % 2]) for i in range(int(sys.argv[1]))]
print("ready", flush=True)
for line in sys.stdin:
    for _ in range(int(line)):
        area = mmap.mmap(-1, 1 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        area.madvise(mmap.MADV_NOHUGEPAGE)
        area.write(bytes(len(area)))
        area.close()
    print("done", flush=True)
"""


def cpu_s(pid: int) -> float:
    """The CPU time of all threads of a process."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def load() -> str:
    return (
        f"The load was {os.getloadavg()[0]:.0f} on {os.cpu_count()} CPUs, so compare CPU seconds."
    )


@contextmanager
def started(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A process that has printed "ready"."""
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", command
        yield process
        process.kill()


Work = Callable[[int], None]


@contextmanager
def obeying(command: list[str], line: str = "{}") -> Iterator[tuple[int, Work]]:
    """A process that does an amount of work for each line of input."""
    with started(command) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        say, hear = process.stdin, process.stdout

        def work(amount: int) -> None:
            say.write(line.format(amount) + "\n")
            say.flush()
            hear.readline()

        yield process.pid, work


def touching(mappings: int = 0) -> AbstractContextManager[tuple[int, Work]]:
    return obeying([sys.executable, "-c", TOUCHES, str(mappings)])


@contextmanager
def redis(folder: Path) -> Iterator[tuple[int, Work]]:
    socket = str(folder / "redis")
    words = ["redis-server", "--port", "0", "--unixsocket", socket, "--save", ""]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as server:
        while not Path(socket).exists():
            time.sleep(0.05)
        client = ["redis-benchmark", "-s", socket, "-t", "set", "-r", "100000", "-d", "200", "-q"]

        def work(amount: int) -> None:
            subprocess.run([*client, "-n", str(amount)], check=True, stdout=subprocess.DEVNULL)

        yield server.pid, work
        server.terminate()


@contextmanager
def memcached(folder: Path) -> Iterator[tuple[int, Work]]:
    """With four threads."""
    socket = str(folder / "memcached")
    words = ["memcached", "-s", socket, "-t", "4", "-u", getpass.getuser()]
    with subprocess.Popen(words) as server:
        while not Path(socket).exists():
            time.sleep(0.05)

        def work(amount: int) -> None:
            client = [sys.executable, "-c", ASKS, socket, str(amount // 4)]
            clients = [subprocess.Popen(client) for _ in range(4)]
            assert [one.wait() for one in clients] == [0] * 4

        yield server.pid, work
        server.terminate()
