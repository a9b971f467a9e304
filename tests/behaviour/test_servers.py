# SPDX-License-Identifier: Apache-2.0
"""Recorded servers of Debian answer under load as without a recorder, and end correctly."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from behaviour.conftest import needed
from behaviour.servers import SERVERS, Server, not_as_root
from behaviour.waiting import LIMIT_S, wait_for
from behaviour.ways import (
    BINARY,
    FAULTS,
    NATIVE,
    PLAN,
    attached,
    check_trace,
    shell_status,
    wrapped,
)


@contextmanager
def short_folder() -> Iterator[Path]:
    """A folder for everyone, with a path that is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="behaviour-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o777)
        yield Path(name)


@contextmanager
def running(server: Server, way: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = wrapped(way, folder, server.prepare(folder))
    if server.refuses_root:
        command = [*not_as_root(), *command]
    output = folder / "output"
    with (
        output.open("wb") as file,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            cwd=folder,
            start_new_session=True,
        ) as process,
    ):
        try:
            wait_for(
                lambda: server.is_ready(folder, process.pid) or process.poll() is not None, way
            )
            yield process
        except BaseException:
            print(output.read_text(errors="replace")[-2000:])
            raise
        finally:
            if process.poll() is None:  # with all its children
                os.killpg(process.pid, signal.SIGKILL)


def ended(process: subprocess.Popen[bytes]) -> int:
    process.send_signal(signal.SIGTERM)
    return shell_status(process.wait(LIMIT_S))


@cache
def by_itself(name: str) -> tuple[str, int]:
    server = SERVERS[name]
    with short_folder() as folder, running(server, NATIVE, folder) as process:
        answers = server.ask(folder)
        assert server.ask(folder) == answers
        return answers, ended(process)


@pytest.mark.parametrize("name", SERVERS)
@pytest.mark.parametrize("way", [BINARY, FAULTS, PLAN])
def test_answers_and_ends_as_by_itself(way: str, name: str) -> None:
    server = SERVERS[name]
    needed(*server.programs)
    expected = by_itself(name)
    with short_folder() as folder:
        with running(server, way, folder) as process:
            assert (server.ask(folder), ended(process)) == expected
        if way != PLAN:
            check_trace(folder)


@pytest.mark.parametrize("name", SERVERS)
def test_attached_to_answers_and_ends_as_by_itself(name: str) -> None:
    server = SERVERS[name]
    needed(*server.programs)
    expected = by_itself(name)
    with short_folder() as folder, running(server, NATIVE, folder) as process:
        for _ in range(2):
            with attached(server.answering(process.pid), folder, lambda: process.poll() is None):
                assert server.ask(folder) == expected[0]
        assert (server.ask(folder), ended(process)) == expected
