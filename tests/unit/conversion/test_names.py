# SPDX-License-Identifier: Apache-2.0
"""What was read for names is freed when all processes have theirs, and read again when needed."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from numascape.conversion.names import Names
from numascape.conversion.shards import MappedModule

_LOADED = 0x7F00_0000_0000


@pytest.fixture
def names(tmp_path: Path) -> Names:
    """The names of two processes with one library."""
    source = tmp_path / "work.c"
    source.write_text("double table[1000];\ndouble work(int i) {\n  return table[i];\n}\n")
    path = tmp_path / "libwork.so"
    subprocess.run(["gcc", "-g", "-shared", "-fPIC", "-o", path, source], check=True)
    (tmp_path / "cache").mkdir(mode=0o700)
    module = MappedModule(str(path), _LOADED, _LOADED + (1 << 20), _LOADED, 0)
    shards: list[Any] = [SimpleNamespace(modules=[module], places={}) for _ in range(2)]
    return Names(shards, tmp_path / "cache")


def _address_of_table(names: Names) -> int:
    return next(item.address for item in names.globals if item.name == "table")


@pytest.mark.program
def test_it_is_freed_when_all_have_their_names(names: Names, tmp_path: Path) -> None:
    read = names.globals
    place = names.place(_LOADED + 0x1100)
    names.have_names(1)
    assert names.globals is read, "another process needs them"
    assert list((tmp_path / "cache").iterdir()) == []
    address = _address_of_table(names)
    names.have_names(1)
    assert names._opened is None
    assert [file.suffix for file in (tmp_path / "cache").iterdir()] == [""], "it is kept"
    assert names.place(_LOADED + 0x1100) == place
    assert names.globals is not read
    assert _address_of_table(names) == address
