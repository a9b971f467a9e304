# SPDX-License-Identifier: Apache-2.0
"""Replaying shards: a native library of other sources is one clear error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from numascape._native import shard as native
from numascape.conversion import shards
from numascape.conversion.frame_variables import FrameVariables
from numascape.errors import NumascapeError


def test_an_older_native_library_is_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(native, "read_header", lambda _: {})
    monkeypatch.setattr(shards, "frame_variables", lambda *_: FrameVariables())
    known: dict[str, Any] = dict.fromkeys((*shards._TABLES, *shards._OTHERS))
    del known["instructions"]
    monkeypatch.setattr(native, "replay", lambda *_: known)
    with pytest.raises(NumascapeError, match=r"older than .* 'instructions'\. Install Numascape"):
        shards._read_shard(tmp_path / "1.shard", [], None)
