# SPDX-License-Identifier: Apache-2.0
"""The verb `plot`: what it writes, and one line for every mistake."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from numascape.trace import TraceInfo, write_trace
from synthetic.pattern import Pattern
from synthetic.write import write_pattern

Numascape = Callable[..., tuple[int, str, str]]


def test_it_writes_each_format(numascape: Numascape, trace_folder: Path, tmp_path: Path) -> None:
    starts = {"a.pdf": b"%PDF-", "a.SVG": b"<?xml", "a.png": b"\x89PNG"}
    for name, start in starts.items():
        file = tmp_path / name
        command = ("plot", trace_folder, "--structure", "A", "--figure", "access", "-o", file)
        assert numascape(*command) == (0, "", f"numascape: wrote {file} (8.5 x 5.0 cm)\n")
        assert file.read_bytes().startswith(start)


def test_the_file_is_named_after_the_figure(
    numascape: Numascape, trace_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(trace_folder.parent)
    assert numascape("plot", "--quiet", trace_folder, "--figure", "traffic") == (0, "", "")
    assert (trace_folder.parent / "traffic.pdf").read_bytes().startswith(b"%PDF-")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--structure", "A"], "Missing option '--figure'"),
        (["--figure", "pie"], "'pie' is not one of 'access', 'first-touch', "),
        (["--figure", "access"], "the figure access needs a structure: name it with --structure"),
        (
            ["--figure", "access", "--structure", "unusd"],
            "no structure unusd; similar names: unused",
        ),
        (["--figure", "access", "--structure", "xyzzy"], "no structure xyzzy; numascape show "),
        (["--figure", "access", "--structure", "3"], "no structure 3; "),
        (["--figure", "access", "--structure", "9" * 5000], "no structure 99999"),
        (["--figure", "access", "--structure", "\x1b[31m"], r"no structure \x1b[31m; "),
        (["--figure", "sizes", "-o", "a.gif"], "a.gif: a figure is written as .pdf, .svg, .png"),
        (["--figure", "sizes", "-o", "plain"], "plain: a figure is written as .pdf, .svg, .png"),
        (["--figure", "sizes", "-o", "/absent/a.pdf"], "/absent/a.pdf cannot be written: No such"),
        (["--figure", "phases"], "sum.numascape was recorded without phases; docs/record.md says"),
        (["--figure", "sizes", "--phase", "x"], "sum.numascape was recorded without phases"),
        (["--figure", "sizes", "--width", "0"], "a width of 0 cm is not possible: choose 2 to 200"),
        (["--figure", "sizes", "--height", "nan"], "a height of nan cm is not possible"),
    ],
)
def test_mistakes_are_one_line(
    numascape: Numascape, trace_folder: Path, options: list[str], message: str
) -> None:
    status, out, err = numascape("plot", trace_folder, *options)
    assert (status, out) == (2, "")
    assert err.startswith("numascape: error: ")
    assert message in err
    assert err.count("\n") == 1


def test_a_name_that_several_have_needs_a_number(numascape: Numascape, tmp_path: Path) -> None:
    pattern = Pattern("twins", 1)
    for _ in range(7):
        pattern.structure("u", 4)
    import numpy as np

    pattern.access(3, np.arange(4), np.array(0), 5, 0)
    pattern.touch(3, np.arange(4), 0)
    trace = write_pattern(pattern, tmp_path / "twins.numascape").path
    target = tmp_path / "u.png"
    command = ("plot", trace, "--figure", "access", "-o", target, "--structure")
    status, _, err = numascape(*command, "u")
    assert status == 2
    assert "7 structures are called u: 0 (twins.c:40), 1 (twins.c:41)" in err
    assert "and 2 more; give the number of one instead of the name" in err
    assert not target.exists()
    assert numascape(*command, "3")[0] == 0


def test_a_failed_write_leaves_the_former_figure(
    numascape: Numascape, trace_folder: Path, tmp_path: Path
) -> None:
    target = tmp_path / "former.pdf"
    target.mkdir()
    status, _, err = numascape("plot", trace_folder, "--figure", "sizes", "-o", target)
    assert (status, err.count("\n")) == (2, 1)
    assert f"{target} cannot be written" in err
    assert list(tmp_path.glob(".*partial")) == []


@pytest.mark.parametrize("figure", ["strip", "sizes", "read-write", "sharing", "traffic"])
def test_an_empty_trace_is_one_line(
    numascape: Numascape,
    tmp_path: Path,
    tables: dict[str, pl.DataFrame],
    info: TraceInfo,
    figure: str,
) -> None:
    empty = {name: frame if name == "phases" else frame.clear() for name, frame in tables.items()}
    write_trace(tmp_path / "empty.numascape", empty, info)
    status, _, err = numascape("plot", tmp_path / "empty.numascape", "--figure", figure)
    assert (status, err.count("\n")) == (2, 1)
    assert "empty.numascape has no structures, so there is nothing to draw" in err


@pytest.mark.parametrize("size", [(2, 2), (2, 30), (40, 2)])
def test_sizes_in_which_nothing_fits_are_no_error(
    numascape: Numascape, trace_folder: Path, tmp_path: Path, size: tuple[int, int]
) -> None:
    command = ("plot", "-q", trace_folder, "--figure", "first-touch", "--structure", "A")
    sizes = ("--width", size[0], "--height", size[1])
    assert numascape(*command, *sizes, "-o", tmp_path / "a.svg") == (0, "", "")


@pytest.mark.parametrize("figure", ["strip", "access", "first-touch", "read-write", "sharing"])
def test_a_structure_that_nobody_used_is_an_empty_figure(
    numascape: Numascape, trace_folder: Path, tmp_path: Path, figure: str
) -> None:
    command = ("plot", trace_folder, "--figure", figure, "--structure", "unused")
    assert numascape(*command, "-o", tmp_path / "empty.png")[0] == 0
