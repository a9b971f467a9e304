# SPDX-License-Identifier: Apache-2.0
"""Gives shard files to recorded processes that have no permission to create them.

A process that changed its user or its root directory, or that limits the size of its files, asks
over a socket. The socket has no file, so that it can be reached from any root directory. Each
request must contain a secret that only the recorded processes know.
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
import secrets
import socket
import threading
from pathlib import Path
from types import TracebackType

from numascape.errors import NumascapeError

_MAX_BYTES = 1 << 46  # the largest file, which is more than any table needs
_LONGEST_WAIT_S = 30.0


_MIN_LIMIT = 1 << 38  # counters of 63 threads


def refuse_small_files() -> None:
    """Raise NumascapeError if our own limit on the size of files is too low to record."""
    limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    if limit not in (resource.RLIM_INFINITY, -1) and limit < _MIN_LIMIT:
        raise NumascapeError(
            f"files may not be larger than {limit} bytes here (ulimit -f), but recording needs "
            "large sparse files: set the limit only for the program, numascape record -- sh -c "
            "'ulimit -f ...; exec PROGRAM'"
        )


def refuse_small_address_space() -> None:
    """Raise NumascapeError if our own limit on addresses is too low to record in the program."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit not in (resource.RLIM_INFINITY, -1) and limit < _MIN_LIMIT:
        raise NumascapeError(
            f"a process may have only {limit} bytes of address space here (ulimit -v), but the "
            "recorder reserves 4 GiB for each thread: remove this limit, ulimit -v unlimited"
        )


class ShardFilesServer:
    """Serves requests in its own thread while the context is entered."""

    def __init__(self, folder: Path) -> None:
        """Serve files in `folder`."""
        self._folder = folder
        self._secret = secrets.token_hex(16)
        self._name = f"numascape-{secrets.token_hex(12)}"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._thread = threading.Thread(target=self._serve, daemon=True)

    @property
    def options(self) -> str:
        """The options for the recorder in the process."""
        return f"-files {self._name} {self._secret}"

    def __enter__(self) -> ShardFilesServer:
        """Begin to serve."""
        self._socket.bind(f"\0{self._name}")
        self._socket.listen(64)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End after answering all current requests."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError, ValueError):
                connection.settimeout(_LONGEST_WAIT_S)
                self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        words = connection.recv(256).decode("ascii").split()
        if not words or not secrets.compare_digest(words[0], self._secret):
            return
        match words[1:]:
            case ["open", process] if process.isdecimal():
                self._open(connection, int(process))
            case ["grow", name, size] if size.isdecimal():
                self._grow(connection, name, min(int(size), _MAX_BYTES))
            case _:
                pass

    def _open(self, connection: socket.socket, process: int) -> None:
        """Create the files of a new shard, and send their descriptors."""
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        for number in range(10000):
            name = f"{process}-{number}"
            try:
                shard = os.open(self._folder / f"{name}.shard", flags, 0o600)
            except FileExistsError:
                continue
            try:
                tables = os.open(self._folder / f"{name}.tables", flags, 0o600)
                try:
                    socket.send_fds(connection, [name.encode()], [shard, tables])
                finally:
                    os.close(tables)
            finally:
                os.close(shard)
            return

    def _grow(self, connection: socket.socket, name: str, size: int) -> None:
        """Make a file longer, never shorter, because threads may ask in any order."""
        if re.fullmatch(r"\d+-\d+\.(shard|tables)", name) is None:
            return
        path = self._folder / name
        if path.stat().st_size < size:
            os.truncate(path, size)
        connection.send(b"done")
