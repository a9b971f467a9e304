# SPDX-License-Identifier: Apache-2.0
"""Files may be read if they have a source file's name and have not changed since the recording."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest

from numascape.analysis import source_files as module
from numascape.analysis.source_files import (
    LONGEST_LINE,
    SourceFiles,
    is_source_name,
    shown_line,
    source_files,
)
from numascape.trace import TraceInfo


def file_of(folder: Path, seconds: float, name: str = "a.c", text: str = "int a;\n") -> str:
    """A file that was changed this number of seconds after 1970."""
    path = folder / name
    path.write_text(text)
    os.utime(path, (seconds, seconds))
    return str(path)


def test_a_file_is_read_unless_it_was_changed_after_the_start(tmp_path: Path) -> None:
    file = file_of(tmp_path, 1000)
    assert SourceFiles(True, 1000.0).lines(file) == ["int a;"]
    assert SourceFiles(True, 999.0).lines(file) is None
    assert SourceFiles(False, 1000.0).lines(file) is None


def test_a_start_that_is_no_time_is_before_all_files(tmp_path: Path, info: TraceInfo) -> None:
    file = file_of(tmp_path, 0)
    for started in ("yesterday", "0001-01-01T00:00:00"):
        wrong = dataclasses.replace(info, started=started)
        assert source_files(wrong, info.host, anywhere=True).lines(file) is None
    right = dataclasses.replace(info, started="1970-01-01T00:00:02+00:00")
    assert source_files(right, info.host, anywhere=False).lines(file) == ["int a;"]


def test_a_file_of_the_second_of_the_start_is_read(tmp_path: Path, info: TraceInfo) -> None:
    run = dataclasses.replace(info, started="1970-01-01T00:00:02+00:00")
    written = {seconds: file_of(tmp_path, seconds, f"{seconds}.c") for seconds in (2.9, 3.1)}
    files = source_files(run, info.host, anywhere=False)
    assert files.lines(written[2.9]) == ["int a;"]
    assert files.lines(written[3.1]) is None


def test_only_so_many_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FILES", 2)
    files = [file_of(tmp_path, 1, name) for name in ("a.c", "b.c", "c.c")]
    sources = SourceFiles(True, 1.0)
    assert [sources.lines(file) is not None for file in files] == [True, True, False]
    assert sources.lines(files[0]) is not None


def test_a_large_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST_FILE", 4)
    assert SourceFiles(True, 1.0).lines(file_of(tmp_path, 1, text="12\n\n")) == ["12", ""]
    assert SourceFiles(True, 1.0).lines(file_of(tmp_path, 1, "b.c", "12345")) is None


def test_a_link_must_lead_to_a_source_file(tmp_path: Path) -> None:
    file_of(tmp_path, 1, "secret")
    (tmp_path / "a.c").symlink_to(tmp_path / "secret")
    (tmp_path / "loop.c").symlink_to(tmp_path / "loop.c")
    sources = SourceFiles(True, 1.0)
    for name in ("a.c", "loop.c", "absent.c", "secret"):
        assert sources.lines(str(tmp_path / name)) is None
    assert sources.lines("a.c") is None
    assert sources.loops(str(tmp_path / "a.c")) is None
    assert sources.parallel_loop(str(tmp_path / "a.c"), 1) is None


def test_a_file_has_its_loops(tmp_path: Path) -> None:
    sources = SourceFiles(True, 1.0)
    file = file_of(tmp_path, 1, "a.c", "void f() { for (;;) ; }")
    loops = sources.loops(file)
    assert loops is not None
    assert loops.around(1) == (1, 1, "for")
    assert sources.loops(file) is loops


def test_a_file_that_may_be_read_has_its_parallel_loops(tmp_path: Path) -> None:
    code = "void f(int n, int *a) {\n  for (int i = 0; i < n; i++)\n    a[i] = 0;\n}\n"
    file = file_of(tmp_path, 1, "a.c", code)
    found = SourceFiles(True, 1.0).parallel_loop(file, 3)
    assert found is not None
    assert found.line == 2
    assert SourceFiles(False, 1.0).parallel_loop(file, 3) is None


def test_names_of_source_files() -> None:
    assert all(is_source_name(name) for name in ("/src/a.c", "a.F90", "a\nb.hpp", "a.c++"))
    assert not any(is_source_name(name) for name in ("a.py", ".c", "/src.c/passwd", "a.c.bak"))


def test_lines_are_shown_without_what_cannot_be_seen() -> None:
    assert shown_line("\ta = 1;\r") == "        a = 1;"
    assert shown_line("x" * LONGEST_LINE) == "x" * LONGEST_LINE
    assert shown_line("x" * (LONGEST_LINE + 1)) == "x" * (LONGEST_LINE - 1) + "…"


def test_it_is_said_that_sources_are_left_out() -> None:
    assert SourceFiles(True, 1.0).left_out == ()
    assert "another system" in SourceFiles(False, 1.0).left_out[0]
