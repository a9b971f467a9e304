# SPDX-License-Identifier: Apache-2.0
"""A trace is written wholly or not at all."""

from __future__ import annotations

import dataclasses
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest

import numascape
from numascape import NumascapeError
from numascape.trace import TraceInfo, write_trace

Tables = dict[str, pl.DataFrame]


@contextmanager
def files_limited_to(size: int) -> Iterator[None]:
    """A limit on file sizes: it is like a full disk, but needs no privileges."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_lazy_tables_are_written_too(tmp_path: Path, tables: Tables, info: TraceInfo) -> None:
    lazy = {name: frame.lazy() for name, frame in tables.items()}
    write_trace(tmp_path / "t.numascape", lazy, info)
    assert numascape.open(tmp_path / "t.numascape").accesses.equals(tables["accesses"])


def test_a_former_trace_is_replaced(trace_folder: Path, tables: Tables, info: TraceInfo) -> None:
    (trace_folder / "leftover").touch()
    tables["accesses"] = tables["accesses"].head(2)
    write_trace(trace_folder, tables, info)
    assert numascape.open(trace_folder).accesses.height == 2
    assert not (trace_folder / "leftover").exists()
    assert [path.name for path in trace_folder.parent.iterdir()] == [trace_folder.name]


def test_what_is_no_trace_is_not_replaced(tmp_path: Path, tables: Tables, info: TraceInfo) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1").write_text("years of work")
    with pytest.raises(NumascapeError, match="exists and is not a trace"):
        write_trace(tmp_path / "thesis", tables, info)
    assert (tmp_path / "thesis" / "chapter1").read_text() == "years of work"


def test_full_disk_leaves_the_former_trace(
    trace_folder: Path, tables: Tables, info: TraceInfo
) -> None:
    tables["accesses"] = pl.concat([tables["accesses"]] * 2)
    with files_limited_to(100), pytest.raises(NumascapeError, match="cannot write") as caught:
        write_trace(trace_folder, tables, info)
    assert "too large" in str(caught.value)
    assert numascape.open(trace_folder).accesses.height == 5
    assert [path.name for path in trace_folder.parent.iterdir()] == [trace_folder.name]


def test_missing_parent_folder_is_named(tmp_path: Path, tables: Tables, info: TraceInfo) -> None:
    with pytest.raises(NumascapeError, match=r"absent is not a folder"):
        write_trace(tmp_path / "absent" / "t.numascape", tables, info)


@pytest.mark.program
def test_folder_without_write_permission_is_named(tmp_path: Path, trace_folder: Path) -> None:
    """Root may write everywhere, so the check runs as somebody else."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    for folder in (tmp_path, *tmp_path.parents):
        folder.chmod(folder.stat().st_mode | 0o055) if folder.owner() == "root" else None
    code = (
        "import os, sys, pathlib\n"
        "from numascape.trace.check_target import check_replaceable\n"
        "from numascape import NumascapeError\n"
        "if os.getuid() == 0: os.setuid(65534)\n"
        "try: check_replaceable(pathlib.Path(sys.argv[1]))\n"
        "except NumascapeError as error: print(error)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, str(closed / "t.numascape")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "no permission to write in" in result.stdout


def test_a_missing_table_or_column_is_named(
    tmp_path: Path, tables: Tables, info: TraceInfo
) -> None:
    target = tmp_path / "t.numascape"
    with pytest.raises(NumascapeError, match="has no column reads"):
        write_trace(target, {**tables, "accesses": tables["accesses"].drop("reads")}, info)
    del tables["phases"]
    with pytest.raises(NumascapeError, match="the table phases is missing"):
        write_trace(target, tables, info)
    assert list(tmp_path.iterdir()) == []


def test_names_that_are_no_text_are_kept_readable(
    tmp_path: Path, tables: Tables, info: TraceInfo
) -> None:
    program = os.fsdecode(b"/bin/caf\xe9")
    write_trace(tmp_path / "t.numascape", tables, dataclasses.replace(info, program=program))
    assert numascape.open(tmp_path / "t.numascape").info.program == "/bin/caf?"


def test_permissions_follow_the_umask(trace_folder: Path) -> None:
    mask = os.umask(0)
    os.umask(mask)
    assert trace_folder.stat().st_mode & 0o777 == 0o777 & ~mask
    assert (trace_folder / "trace.json").stat().st_mode & 0o777 == 0o666 & ~mask
