# SPDX-License-Identifier: Apache-2.0
"""The status that `record` shows on a terminal while the program runs."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import polars as pl
import pytest

import numascape
from numascape.recorders import live_status
from numascape.recorders.largest_so_far import LargestBlocks
from numascape.recorders.live_status import count_so_far
from numascape.recorders.record import convert_session, record_session
from numascape.recording.request import RecordRequest

_STATUS = re.compile(rb"numascape: recording \d+:\d\d, [\d.]+ [kMG] accesses, .+ used, 1 thread")
_LINE = re.compile(rb"\r\x1b\[K(" + _STATUS.pattern + rb")")
_TITLE = re.compile(rb"\x1b\]2;(" + _STATUS.pattern + rb"(, largest: [^\x07]+)?)\x07")

# Makes standard error the controlling terminal of a new session, as a shell's terminal is.
_ON_TERMINAL = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(2, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""


class Terminal:
    """A terminal of which all output is kept."""

    def __init__(self) -> None:
        self.ours, self.theirs = pty.openpty()
        self.output = b""

    def read_until(self, pattern: re.Pattern[bytes]) -> None:
        while not pattern.search(self.output):
            self.output += os.read(self.ours, 4096)

    def read_to_end(self) -> bytes:
        """All output, when no other process has the terminal open any more."""
        with suppress(OSError):
            while True:
                self.output += os.read(self.ours, 4096)
        return self.output


@contextmanager
def recording(
    command: Path, trace: Path, *options: str, output_on_terminal: bool = False
) -> Iterator[tuple[Terminal, subprocess.Popen[bytes]]]:
    """Record `cat` on a terminal, until its input is closed."""
    terminal = Terminal()
    words = [str(command), "record", *options, "-o", str(trace), "--", "cat"]
    with subprocess.Popen(
        [sys.executable, "-c", _ON_TERMINAL, *words],
        stdin=subprocess.PIPE,
        stdout=terminal.theirs if output_on_terminal else subprocess.PIPE,
        stderr=terminal.theirs,
        env={**os.environ, "TERM": "xterm"},
    ) as process:
        os.close(terminal.theirs)
        yield terminal, process
    os.close(terminal.ours)
    assert process.returncode == 0


def send(process: subprocess.Popen[bytes], text: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(text)
    process.stdin.flush()


def close_input(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.close()


def test_a_status_line_appears_where_the_program_does_not_write(
    command: Path, tmp_path: Path
) -> None:
    with recording(command, tmp_path / "cat.numascape") as (terminal, process):
        send(process, b"before\n")
        terminal.read_until(_LINE)
        close_input(process)
        shown = terminal.read_to_end()
        assert process.stdout is not None
        assert process.stdout.read() == b"before\n"
    # The line is removed before the next message.
    assert b"\r\x1b[Knumascape: Converting" in shown


def test_the_title_shows_the_status_where_the_program_writes(command: Path, tmp_path: Path) -> None:
    trace = tmp_path / "cat.numascape"
    with recording(command, trace, output_on_terminal=True) as (terminal, process):
        send(process, b"begun, ")
        terminal.read_until(_TITLE)
        send(process, b"ended\n")
        close_input(process)
        shown = terminal.read_to_end()
    assert shown.count(b"\x1b[22;2t") == shown.count(b"\x1b[23;2t") == 1
    # Apart from the codes that set the title, the output of the program is unchanged.
    assert b"\nbegun, ended\r\nnumascape: Converting" in re.sub(
        rb"\x1b\]2;[^\x07]*\x07|\x1b\[2[23];2t", b"", shown
    )


def test_a_quiet_recording_shows_nothing(command: Path, tmp_path: Path) -> None:
    """This also holds if another recording, which began later, has shown its status."""
    with recording(command, tmp_path / "quiet.numascape", "--quiet") as (quiet, process):
        send(process, b"begun\n")
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        with recording(command, tmp_path / "cat.numascape") as (terminal, later):
            terminal.read_until(_LINE)
            close_input(later)
            terminal.read_to_end()
        close_input(process)
        assert quiet.read_to_end() == b""


def test_the_sums_are_those_of_the_trace(programs: Path, tmp_path: Path) -> None:
    request = RecordRequest([str(programs / "thread_waves"), "20", "4"])
    target = tmp_path / "run.numascape"
    session, _, _ = record_session(request, request.program, target, lambda _: None)
    shown = count_so_far(session.folder, 1.0)
    convert_session(session, target, lambda _: None)
    trace = numascape.open(target)
    totals = trace.accesses.select(pl.col("reads", "writes").sum()).row(0)
    assert shown.accesses == sum(totals) > 0
    assert shown.processes == 1


def test_the_largest_heap_blocks_have_names(programs: Path, tmp_path: Path) -> None:
    """Two arrays, of 4 and of 1 MiB, that are not freed; a larger one that is freed."""
    request = RecordRequest([str(programs / "large_blocks")])
    target = tmp_path / "run.numascape"
    session, _, _ = record_session(request, request.program, target, lambda _: None)
    largest = LargestBlocks(None).so_far(session.folder)
    convert_session(session, target, lambda _: None)
    assert largest[:2] == [("kept", 4 << 20), ("small", 1 << 20)]
    assert "freed" not in dict(largest)
    structures = numascape.open(target).structures
    assert {"kept", "small", "freed"} <= set(structures["name"])


def test_a_status_line_that_is_too_long_shows_its_parts_in_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written: list[str] = []
    monkeypatch.setattr(live_status, "_write", written.append)
    monkeypatch.setenv("COLUMNS", "60")
    line = live_status._Line()
    largest = live_status.largest_text([("A\x1b", 4 << 20), ("B", 1 << 20)])
    for _ in range(3):
        line.show("recording 0:42, 12.3 G accesses, 291 M/s, 8 threads", largest)
    counts, blocks, again = (text.removeprefix("\r\x1b[K") for text in written)
    assert counts == again == "numascape: recording 0:42, 12.3 G accesses, 291 M/s, 8 thread"[:59]
    assert blocks == r"numascape: largest: A\x1b 4 MiB, B 1 MiB"
    line.show("recording 0:43", "largest: A 4 MiB")
    assert written[-1].endswith("numascape: recording 0:43, largest: A 4 MiB")
