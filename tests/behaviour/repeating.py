# SPDX-License-Identifier: Apache-2.0
"""Programs that repeat their work until there is input, and print a line for each round.

They use a processor all the time, which would slow down the later steps of a test. So they print
into a socket with the smallest buffer. It has space for a few rounds; then they wait until the test
reads.
"""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

from behaviour.waiting import LIMIT_S, wait_for


class Repeating:
    """A process that repeats its work, and all that it has printed."""

    def __init__(self, process: subprocess.Popen[bytes], printed: socket.socket) -> None:
        self._process = process
        self._printed = printed
        self._output = bytearray()
        self._is_read = Event()
        self._is_read.set()
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def status(self) -> int:
        return self._process.wait(LIMIT_S)

    def lives(self) -> bool:
        return self._process.poll() is None

    def begin_rounds(self, more: int) -> None:
        """Return when this number of further rounds has begun, or the program has ended."""
        enough = self._rounds() + more
        wait_for(lambda: self._rounds() >= enough or not self.lives(), f"round {enough}")

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """After a whole round, do not read what the program prints."""
        self.begin_rounds(2)
        self._is_read.clear()
        try:
            yield
        finally:
            self._is_read.set()

    def end(self) -> str:
        """Give it input, and return all that it printed."""
        self._process.communicate(b"x", timeout=LIMIT_S)
        self._reader.join(LIMIT_S)
        return self._output.decode()

    def _rounds(self) -> int:
        return self._output.count(b"round\n")

    def _read(self) -> None:
        while self._is_read.wait() and (printed := self._printed.recv(4096)):
            self._output += printed


@contextmanager
def repeating(folder: Path, program: Sequence[str | Path]) -> Iterator[Repeating]:
    """Start it in this folder, with its errors in a file there, and kill it at the end."""
    reads, prints = socket.socketpair()
    prints.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 0)  # the kernel uses its minimum
    with (
        reads,
        (folder / "errors").open("wb") as errors,
        subprocess.Popen(
            [*map(str, program), "repeat"],
            stdin=subprocess.PIPE,
            stdout=prints.fileno(),
            stderr=errors,
            cwd=folder,
        ) as process,
    ):
        prints.close()
        try:
            yield Repeating(process, reads)
        finally:
            process.kill()
