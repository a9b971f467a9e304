# SPDX-License-Identifier: Apache-2.0
"""`numascape pages` on several processes: one table, with shared memory once."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

PAGE = 4096
Numascape = Callable[..., tuple[int, str, str]]
# The parent writes pages 0 to 1023 of shared memory, the children 512 to 1535 and 1024 to 2047.
FAMILY = """
import mmap, os, sys
area = mmap.mmap(-1, 4096 * 4096)
numbers = []
for child in range(2):
    ready, done = os.pipe()
    pid = os.fork()
    if pid == 0:
        area[(child + 1) * 512 * 4096 : ((child + 1) * 512 + 1024) * 4096] = bytes(1024 * 4096)
        os.write(done, b"x")
        sys.stdin.read()
        os._exit(0)
    os.read(ready, 1)
    numbers.append(pid)
area[: 1024 * 4096] = bytes(1024 * 4096)
print(os.getpid(), *numbers, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def family() -> Iterator[list[int]]:
    running = subprocess.Popen(
        [sys.executable, "-c", FAMILY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    yield [int(word) for word in running.stdout.readline().split()]
    running.communicate()


def test_a_page_of_a_shared_segment_is_counted_once(
    numascape: Numascape, family: list[int]
) -> None:
    words = [word for pid in family for word in ("--pid", str(pid))]
    status, output, errors = numascape("pages", "--json", *words)
    assert (status, errors) == (0, "")
    document = json.loads(output)
    (segment,) = [
        item
        for item in document["together"]["structures"]
        if item["name"].startswith("shared anonymous memory") and item["virtual"] >= 4096 * PAGE
    ]
    assert (segment["shared"], segment["mapped_file"]) == (2048 * PAGE, 2048 * PAGE)
    assert segment["pids"] == sorted(family)
    mapped = [
        item["mapped_file"]
        for process in document["processes"]
        for item in process["structures"]
        if item["name"] == segment["name"]
    ]
    assert mapped == [1024 * PAGE] * 3
    together = sum(use["anonymous"] + use["mapped_file"] for use in document["together"]["nodes"])
    apart = sum(use["anonymous"] + use["mapped_file"]
                for process in document["processes"] for use in process["nodes"])  # fmt: skip
    assert together <= apart - 1024 * PAGE


def test_the_live_table_fits_into_a_terminal_of_24_lines(family: list[int]) -> None:
    words = [word for pid in family for word in ("--pid", str(pid))]
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm", COLUMNS="80", LINES="24")
        command = [sys.executable, "-m", "numascape", "pages", *words, "--watch", "0.1"]
        os.execv(sys.executable, command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    shown = ""
    with suppress(OSError):  # the command has ended
        while shown.count("3 processes: ") < 3:
            shown += os.read(terminal, 1 << 16).decode(errors="replace")
    os.kill(pid, 2)
    with suppress(OSError):
        while os.read(terminal, 1 << 16):
            pass
    os.waitpid(pid, 0)
    os.close(terminal)
    screen = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.split("3 processes: ")[1])
    lines = screen.split("\r\n")
    assert len(lines) <= 24
    text = "\n".join(lines)
    for number in family:
        assert f"\n{number} python" in text
    assert "\ntogether " in text
    assert "3 shared" in text
    assert re.search(r"\n\d+ more structures ", text)
