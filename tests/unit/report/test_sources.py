# SPDX-License-Identifier: Apache-2.0
"""Source text and loops are those around the lines; no other file is ever shown."""

from __future__ import annotations

import dataclasses
import os
import platform
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from numascape.analysis.loops import Loop
from numascape.analysis.source_files import SourceFiles, source_files
from numascape.report import draft
from numascape.report.sources import AROUND, loops_around, source_windows
from numascape.trace import Trace, TraceInfo, write_trace
from numascape.trace.host import this_host
from numascape.trace.schema import SCHEMAS

C = """\
void add(double *a, int n)
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            a[i] += j;
        a[i] *= 2;
    }
    do a[0]--; while (a[0] > 0);
    a[1] = 0;
}
"""
CPP = "void f(auto& v)\n{\n    for (auto& x : v)\n        x = 1;\n    while (v[0]) v[0]--;\n}\n"
RUST = "fn f(v: &mut [f64]) {\n    for x in v {\n        *x = 1.0;\n    }\n    loop { break; }\n}\n"
FORTRAN = """\
subroutine f(n, a)
  real a(n)
  do i = 1, n
    do while (a(i) > 4)
      a(i) = a(i) - 1
    end do
  end do
  do concurrent (i = 1:n)
    a(i) = 3
  end do
  forall (i = 1:n) a(i) = 0
end subroutine
"""
FIXED = (
    "      subroutine f(n, a)\n      do 10 i = 1, n\n        a(i) = 5\n 10   continue\n      end\n"
)


@pytest.fixture
def files() -> SourceFiles:
    return SourceFiles(recorded_here=True, before=float("inf"))


def write(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return str(folder / name)


@pytest.mark.parametrize(
    ("name", "text", "line", "expected"),
    [
        ("a.c", C, 1, None),
        ("a.c", C, 3, (3, 7, "for")),
        ("a.c", C, 4, (4, 5, "for")),
        ("a.c", C, 5, (4, 5, "for")),
        ("a.c", C, 6, (3, 7, "for")),
        ("a.c", C, 8, (8, 8, "do")),
        ("a.c", C, 9, None),
        ("a.c", C, 4000, None),
        ("a.cpp", CPP, 4, (3, 4, "for")),
        ("a.cpp", CPP, 5, (5, 5, "while")),
        ("a.rs", RUST, 3, (2, 4, "for")),
        ("a.rs", RUST, 5, (5, 5, "loop")),
        ("a.f90", FORTRAN, 3, (3, 7, "do")),
        ("a.f90", FORTRAN, 5, (4, 6, "do while")),
        ("a.f90", FORTRAN, 9, (8, 10, "do concurrent")),
        ("a.f90", FORTRAN, 11, (11, 11, "forall")),
        ("a.f", FIXED, 3, (2, 4, "do")),
    ],
)
def test_the_innermost_loop_around_a_line(
    files: SourceFiles,
    tmp_path: Path,
    name: str,
    text: str,
    line: int,
    expected: tuple[int, int, str] | None,
) -> None:
    file = write(tmp_path, name, text)
    indices, loops = loops_around([("", 0), (file, line), (file, line)], files)
    assert indices == ((-1, -1, -1) if expected is None else (-1, 0, 0))
    assert loops == ((Loop(file, *expected),) if expected else ())


def test_windows_reach_six_lines_around_and_are_merged(files: SourceFiles, tmp_path: Path) -> None:
    file = write(tmp_path, "a.c", "".join(f"line {i}\n" for i in range(1, 101)))
    windows = source_windows([(file, 50), (file, 60), (file, 2), (file, 101)], files)
    assert [(w.first, w.first + len(w.text) - 1) for w in windows] == [
        (1, 2 + AROUND),
        (50 - AROUND, 60 + AROUND),
    ]
    assert all(line == f"line {w.first + i}" for w in windows for i, line in enumerate(w.text))


@pytest.mark.slow  # large
def test_text_is_bounded_and_the_most_used_lines_come_first(
    files: SourceFiles, tmp_path: Path
) -> None:
    text = ("x" * 390 + "\n") * 5000
    ranked = [
        (write(tmp_path, f"{i}.c", text), 2500 - j) for i in range(9) for j in range(0, 2000, 13)
    ]
    windows = source_windows(ranked, files)
    assert 390_000 < sum(len(line) for w in windows for line in w.text) <= 400_000
    assert {w.file for w in windows} == {ranked[0][0]}


def test_nothing_in_a_shown_line_misleads(files: SourceFiles, tmp_path: Path) -> None:
    file = write(tmp_path, "a.c", "\tif (x) /* \u202e } */\r\n" + "y" * 1000 + "\n")
    (window,) = source_windows([(file, 1)], files)
    assert window.text[0] == "        if (x) /* \\u202e } */"
    assert len(window.text[1]) == 400


@pytest.mark.parametrize("name", ["id_rsa", "notes.txt", ".c", "a.c.bak", "passwd", "key.py"])
def test_files_of_other_kinds_are_not_shown(files: SourceFiles, tmp_path: Path, name: str) -> None:
    assert files.lines(write(tmp_path, name, "secret\n")) is None


def test_a_link_named_like_a_source_is_not_followed_to_something_else(
    files: SourceFiles, tmp_path: Path
) -> None:
    (tmp_path / "a.c").symlink_to(write(tmp_path, "secret", "secret\n"))
    assert files.lines(str(tmp_path / "a.c")) is None
    (tmp_path / "b.c").symlink_to(write(tmp_path, "real.c", "int x;\n"))
    assert files.lines(str(tmp_path / "b.c")) == ["int x;"]


def test_what_is_no_file_of_text_is_not_shown(files: SourceFiles, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.c")
    (tmp_path / "binary.c").write_bytes(b"int\0")
    (tmp_path / "large.c").write_bytes(b"int x;\n" * 1_000_000)
    (tmp_path / "folder.c").mkdir()
    names = ["pipe.c", "binary.c", "large.c", "folder.c", "absent.c", "a\0.c"]
    for name in names:
        assert files.lines(f"{tmp_path}/{name}") is None, name
    assert files.lines("relative.c") is None


def test_a_file_that_changed_since_the_recording_is_not_shown(tmp_path: Path) -> None:
    file = write(tmp_path, "a.c", "int x;\n")
    os.utime(file, (1000, 1000))
    assert SourceFiles(recorded_here=True, before=1000).lines(file) == ["int x;"]
    assert SourceFiles(recorded_here=True, before=999).lines(file) is None


@pytest.fixture
def recorded(
    tmp_path: Path, tables: dict[str, pl.DataFrame], info: TraceInfo
) -> Callable[..., Trace]:
    """The small trace with a line of `file`, recorded on this system except for the `changes`."""

    def written(file: str, **changes: object) -> Trace:
        tables["source_lines"] = pl.DataFrame(
            [(0, 0, "add", file, 5, 10, 10)], schema=SCHEMAS["source_lines"], orient="row"
        )
        host = dataclasses.replace(this_host(Path("/"), platform.uname()), **changes)  # type: ignore[arg-type]
        path = tmp_path / "t.numascape"
        write_trace(path, tables, dataclasses.replace(info, host=host, started="2100-01-01T00:00"))
        return Trace.read(path)

    return written


def test_sources_of_a_trace_from_elsewhere_are_not_shown_unless_asked_for(
    recorded: Callable[..., Trace], tmp_path: Path
) -> None:
    file = write(tmp_path, "a.c", C)
    here = this_host(Path("/"), platform.uname())
    trace = recorded(file)
    report = draft(trace, source_files(trace.info, here, anywhere=False))
    assert report.sources is not None
    assert report.sources[0].text[4] == "            a[i] += j;"
    assert [report.places.line[i] for i, loop in enumerate(report.places.loop) if loop == 0] == [5]
    for changes in ({"name": "elsewhere"}, {"memory_bytes": 1}, {"kernel": "Linux 1"}):
        trace = recorded(file, **changes)
        report = draft(trace, source_files(trace.info, here, anywhere=False))
        assert (report.sources, report.loops) == ((), ())
        assert "another system" in report.left_out[-1]
        assert draft(trace, source_files(trace.info, here, anywhere=True)).sources


def test_no_source_reads_no_file(recorded: Callable[..., Trace], tmp_path: Path) -> None:
    report = draft(recorded(write(tmp_path, "a.c", C)))
    assert report.sources is None
    assert report.loops == ()
