# SPDX-License-Identifier: Apache-2.0
"""Only recorded processes get the files of their shards."""

import os
import socket
from pathlib import Path

from numascape.recorders.shard_files import ShardFilesServer


def ask(server: ShardFilesServer, request: str) -> tuple[str, list[int]]:
    """The text of the answer, and the descriptors that came with it."""
    name = server.options.split()[1]
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(f"\0{name}")
        connection.send(request.encode())
        text, files, _, _ = socket.recv_fds(connection, 64, 2)
        return text.decode(), files


def secret(server: ShardFilesServer) -> str:
    return server.options.split()[2]


def test_files_are_new_and_writable(tmp_path: Path) -> None:
    (tmp_path / "7-0.shard").touch()
    with ShardFilesServer(tmp_path) as server:
        name, files = ask(server, f"{secret(server)} open 7")
        for file in files:
            os.write(file, b"x")
            os.close(file)
    assert name == "7-1"
    assert (tmp_path / "7-1.shard").read_bytes() == (tmp_path / "7-1.tables").read_bytes() == b"x"
    assert (tmp_path / "7-0.shard").read_bytes() == b""


def test_files_grow_and_never_shrink(tmp_path: Path) -> None:
    with ShardFilesServer(tmp_path) as server:
        _, files = ask(server, f"{secret(server)} open 7")
        sizes = []
        for size in (4096, 1 << 33, 8192):
            assert ask(server, f"{secret(server)} grow 7-0.tables {size}")[0] == "done"
            sizes.append((tmp_path / "7-0.tables").stat().st_size)
        for file in files:
            os.close(file)
    assert sizes == [4096, 1 << 33, 1 << 33]


def test_other_requests_get_nothing(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"kept")
    folder = tmp_path / "session"
    folder.mkdir()
    with ShardFilesServer(folder) as server:
        right = secret(server)
        for request in (
            f"{'0' * 32} open 7",
            f"{right} open ../7",
            f"{right} grow ../outside 10",
            f"{right} grow 7-0.tables -1",
            f"{right}",
            "é",
        ):
            assert ask(server, request) == ("", [])
    assert list(folder.iterdir()) == []
    assert outside.read_bytes() == b"kept"
