# SPDX-License-Identifier: Apache-2.0
"""Shows on the terminal what a recording has counted so far.

The program is not asked and does not wait: its shards are read while it writes them. A status line
appears only if the program's standard output is not this terminal. Otherwise the title of the
terminal's window shows the status, which disturbs no output. The largest heap blocks are behind the
counts. A line that is too long for both shows them in turn.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from numascape import terminal
from numascape._native import shard as native
from numascape.conversion.symbol_cache import symbol_cache
from numascape.quantities import bytes_text, count_text, counted
from numascape.recorders.largest_so_far import LargestBlocks
from numascape.trace.format import PAGE_BYTES

StatusPlace = Literal["line", "title"]

_INTERVAL_S: Final = 1.0
# Reading the counters takes at most this share of the time of one CPU.
_MAX_SHARE: Final = 0.02
_LOWEST_PRIORITY: Final = 19
_LONGEST_NAME: Final = 40
# Terminals without a title, which would print its text.
_NO_TITLE: Final = frozenset({"", "dumb", "linux", "unknown"})


@dataclass(frozen=True)
class SoFar:
    """The counts of a recording after some seconds."""

    seconds: float
    accesses: int = 0
    bytes: int = 0
    threads: int = 0
    processes: int = 0


def count_so_far(folder: Path, seconds: float) -> SoFar:
    """The sums of all shards in `folder`; shards that are not begun, or were removed, count 0."""
    accesses = pages = threads = processes = 0
    for path in folder.glob("*.shard"):
        with contextlib.suppress(native.ShardError, OSError):
            reads, writes, used, alive = native.counts_so_far(str(path))
            accesses += reads + writes
            pages += used
            threads += alive
            processes += 1
    return SoFar(seconds, accesses, pages * PAGE_BYTES, threads, processes)


def status_text(now: SoFar, before: SoFar) -> str:
    """One line: the time, and what was counted, with the rate since `before`."""
    parts = [f"recording {_time_text(now.seconds)}"]
    if now.accesses:
        rate = max(0, now.accesses - before.accesses) / max(now.seconds - before.seconds, 1e-3)
        parts.append(f"{count_text(now.accesses)} accesses")
        parts.append(f"{count_text(round(rate))}/s")
        parts.append(f"{bytes_text(now.bytes)} used")
    if now.threads:
        parts.append(counted(now.threads, "thread"))
    if now.processes > 1:
        parts.append(counted(now.processes, "process"))
    return ", ".join(parts)


def largest_text(largest: Sequence[tuple[str, int]]) -> str:
    """The names and sizes of heap blocks; empty if there are none."""
    named = (
        f"{terminal.printable(name[:_LONGEST_NAME])} {bytes_text(size)}" for name, size in largest
    )
    return f"largest: {', '.join(named)}" if largest else ""


def place_on_terminal(pid: int | None) -> StatusPlace | None:
    """The place where the status of a recording can be shown; None if there is none.

    `pid` is the process that is attached to; None: the program runs on our own streams.
    """
    if not sys.stderr.isatty():
        return None
    terminal = os.fstat(sys.stderr.fileno()).st_rdev
    streams = [Path("/dev/stdout")] if pid is None else _outputs(pid)
    if not any(_is_device(stream, terminal) for stream in streams):
        return "line"
    return None if os.environ.get("TERM", "") in _NO_TITLE else "title"


def _outputs(pid: int) -> list[Path]:
    return [Path(f"/proc/{pid}/fd/{number}") for number in (1, 2)]


def _is_device(path: Path, device: int) -> bool:
    try:
        return path.stat().st_rdev == device
    except OSError:
        return False


@contextmanager
def live_status(folder: Path, place: StatusPlace | None) -> Iterator[None]:
    """Show the status at `place` while the context is entered, once it has lasted a second."""
    if place is None:
        yield
        return
    with _Watcher(folder, _Line() if place == "line" else _Title()):
        yield


class _Watcher(AbstractContextManager["_Watcher"]):
    """Shows the status again and again, in its own thread."""

    def __init__(self, folder: Path, display: _Line | _Title) -> None:
        self._folder = folder
        self._largest = LargestBlocks(symbol_cache())
        self._display = display
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> _Watcher:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        with contextlib.suppress(OSError):
            self._display.remove()

    def _watch(self) -> None:
        # Signals are for the thread that waits for the program.
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LOWEST_PRIORITY)
        begin = time.monotonic()
        before = SoFar(0.0)
        interval = _INTERVAL_S
        while not self._stop.wait(interval):
            cpu = time.thread_time()
            now = count_so_far(self._folder, time.monotonic() - begin)
            largest = largest_text(self._largest.so_far(self._folder))
            with contextlib.suppress(OSError):
                if _in_foreground():
                    self._display.show(status_text(now, before), largest)
            before = now
            interval = max(_INTERVAL_S, (time.thread_time() - cpu) / _MAX_SHARE)


def _in_foreground() -> bool:
    """Whether we may write to the terminal: neither another job nor the program's shell has it."""
    return os.tcgetpgrp(sys.stderr.fileno()) == os.getpgrp()


class _Line:
    """The last line of the terminal."""

    def __init__(self) -> None:
        self._shown = 0

    def show(self, counts: str, largest: str) -> None:
        width = shutil.get_terminal_size().columns - 1
        text = "numascape: " + ", ".join(filter(None, (counts, largest)))
        if len(text) > width and largest:
            text = f"numascape: {largest if self._shown % 2 else counts}"
        self._shown += 1
        _write(f"\r\x1b[K{text[:width]}")

    def remove(self) -> None:
        if self._shown:
            _write("\r\x1b[K")


class _Title:
    """The title of the terminal's window; the terminal keeps the former title meanwhile."""

    def __init__(self) -> None:
        self._shown = False

    def show(self, counts: str, largest: str) -> None:
        keep = "" if self._shown else "\x1b[22;2t"
        self._shown = True
        text = ", ".join(filter(None, (counts, largest)))
        _write(f"{keep}\x1b]2;numascape: {text}\x07")

    def remove(self) -> None:
        if self._shown:
            _write("\x1b[23;2t")


def _write(text: str) -> None:
    encoded = text.encode(sys.stderr.encoding or "ascii", "replace")
    os.write(sys.stderr.fileno(), encoded)


def _time_text(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
