# SPDX-License-Identifier: Apache-2.0
"""Carries out a move, after writing the file that undoes it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from numascape.errors import NumascapeError
from numascape.live.affinity import ThreadResults, move_threads
from numascape.live.moving import Account, Pace, move_pages
from numascape.live.plans import Move
from numascape.live.undo import check_undo_place, write_undo


def save_undo(move: Move, output: Path | None) -> Path:
    """Write the undo file of a move to `output`, NAME-PID.undo or FILE.undo; its path.

    Raises OSError, and NumascapeError if all such names are taken, or if `output` exists and may
    not be replaced.
    """
    if output is not None:
        check_undo_place(output)
    path = output or _free_name(move)
    target = move.owner if move.mapped else move.target
    write_undo(path, target, move.pages.sets, move.threads, move.shared, move.mapped)
    return path


def _free_name(move: Move) -> Path:
    of = move.owner or move.target
    words = move.file.name if move.file is not None else f"{of.name or 'process'}-{of.pid}"
    base = re.sub(r"[^\w.-]", "_", words)
    for number in range(1, 1000):
        path = Path(f"{base}.undo" if number == 1 else f"{base}-{number}.undo")
        if not path.exists():
            return path
    raise NumascapeError(f"there are too many files {base}-*.undo: name another one with -o")


def apply_move(
    move: Move,
    bytes_per_s: float | None,
    is_stopped: Callable[[], bool],
    shows: Callable[[int], None],
) -> tuple[Account, ThreadResults | None]:
    """Move the pages, then the threads; `shows` gets the bytes that are done.

    `is_stopped` is asked between two steps. Raises NumascapeError if the kernel forbids it.
    """
    done = 0

    def add(size: int) -> None:
        nonlocal done
        done += size
        shows(done)

    pace = Pace(bytes_per_s, is_stopped, add)
    account = move_pages(move.target, move.pages.sets, pace, move.shared)
    results = None
    if move.threads:
        results = move_threads(move.target, move.threads, is_stopped, move.binds_all)
    return account, results
