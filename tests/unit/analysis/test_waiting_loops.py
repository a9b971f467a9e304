# SPDX-License-Identifier: Apache-2.0
"""Only loops that just wait for another thread are called waiting loops."""

from __future__ import annotations

from pathlib import Path

import pytest

from numascape.analysis.loops import LoopsOfFile
from numascape.naming.sources import read_source

WAITING = [
    "while (sense != mine) ;",
    "while (sense != mine) { }",
    "while (sense.load(std::memory_order_acquire) != mine) { _mm_pause(); }",
    "while (locked.exchange(true)) std::this_thread::yield();",
    'while (*flag == 0) { /* soon */ __asm__ volatile("pause"); }',
    "do { sched_yield(); } while (!ready);",
    "for (; !ready;) ;",
]
WORKING = [
    "while (*text++) ;",
    "while ((c = next()) != 0) ;",
    "while (i < n) total += a[i++];",
    "while (node != 0) { node = node->next; }",
    "for (i = 0; a[i] != key; i++) ;",
    "do { sched_yield(); total += a[0]; } while (!ready);",
    "while (!ready) { help(); }",
    "int x = 0;",
]


def waits(statement: str, folder: Path) -> bool:
    path = folder / "waits.cpp"
    path.write_text(f"void f() {{\n{statement}\n}}\n")
    source = read_source(str(path))
    assert source is not None
    return LoopsOfFile(source).waits(2)


@pytest.mark.parametrize("statement", WAITING)
def test_waiting_loops(statement: str, tmp_path: Path) -> None:
    assert waits(statement, tmp_path)


@pytest.mark.parametrize("statement", WORKING)
def test_loops_that_do_more(statement: str, tmp_path: Path) -> None:
    assert not waits(statement, tmp_path)
