# SPDX-License-Identifier: Apache-2.0
"""A session stores the description of its host, because another host may convert it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from numascape import NumascapeError
from numascape.machine import Machine, MachineNode
from numascape.recording.modelled_cache import ModelledCache
from numascape.recording.options import RecordOptions
from numascape.recording.session import FILE_NAME, Ended, Session, begin_session, read_session
from numascape.trace.info import Host

CACHE = ModelledCache(1 << 20, 16, 64)
OPTIONS = RecordOptions("binary", stack=False, every=0.5, traffic=True, cache=CACHE)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """A session that another machine recorded."""
    begun = begin_session(tmp_path / "run.numascape", ["./program", "1"], OPTIONS)
    nodes = (MachineNode(0, (0, 2), 1 << 30), MachineNode(7, (), 1 << 31))
    elsewhere = dataclasses.replace(
        begun,
        host=Host("elsewhere", "Linux 6.12", 2, 2, 3 << 30),
        machine=Machine("Opteron", nodes),
        ended=Ended(3, None, 1.5, 2.5, {"10/11": [0, 2]}),
    )
    elsewhere.save()
    return elsewhere


def test_a_session_is_read_as_it_was_saved(session: Session) -> None:
    assert read_session(session.folder) == session


def test_a_shard_that_was_not_begun_is_none(session: Session) -> None:
    (session.folder / "1-0.shard").write_bytes(b"")
    (session.folder / "2-0.shard").write_bytes(bytes(4096))
    assert session.shards() == []
    with pytest.raises(NumascapeError, match="is full: make room there, or name another place"):
        session.check_room()
    (session.folder / "3-0.shard").write_bytes(b"NUMASHRD")
    session.check_room()
    assert session.shards() == [session.folder / "3-0.shard"]


def test_a_session_without_its_machine_is_damaged(session: Session) -> None:
    path = session.folder / FILE_NAME
    content = json.loads(path.read_text())
    del content["machine"]
    path.write_text(json.dumps(content))
    with pytest.raises(NumascapeError, match="json is damaged"):
        read_session(session.folder)
