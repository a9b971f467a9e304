# SPDX-License-Identifier: Apache-2.0
"""Observing a running process costs little, with any number of mappings."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

import pytest

from numascape.recorders import running_faults
from numascape.recorders.running_faults import _Watched, pause_after
from numascape.samples.events import RangeMapped


@pytest.mark.parametrize(("look_s", "pause_s"), [(0.0001, 0.05), (0.02, 2.0)])
def test_looks_take_one_percent_of_a_cpu(look_s: float, pause_s: float) -> None:
    assert pause_after(look_s) == pytest.approx(pause_s)


def test_a_mapping_is_noted_once_and_a_new_one_at_the_next_look() -> None:
    watched = _Watched(os.getpid())
    watched.note_changes()
    before = len(watched.events)
    watched.note_changes()
    known = watched.events[before:]
    with mmap.mmap(-1, 1 << 20, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS):
        watched.note_changes()
    new = [
        event for event in watched.events[before + len(known) :] if isinstance(event, RangeMapped)
    ]
    assert any(event.end - event.start == 1 << 20 for event in new)
    places = [
        (one.start, one.end, one.path) for one in watched.events if isinstance(one, RangeMapped)
    ]
    assert len(set(places)) == len(places)


def test_the_executable_comes_before_files_at_lower_addresses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    executable = str(Path("/proc/self/exe").readlink())
    maps = (
        "10000000-10001000 r-xp 00000000 08:01 1 /usr/lib/librecorder.so\n"
        f"55000000-55001000 r-xp 00000000 08:01 2 {executable}\n"
    )
    monkeypatch.setattr(running_faults, "_text", lambda path: maps if path.name == "maps" else "")
    watched = _Watched(os.getpid())
    watched.note_changes()
    mapped = [event.path for event in watched.events if isinstance(event, RangeMapped)]
    assert mapped == [executable, "/usr/lib/librecorder.so"]
