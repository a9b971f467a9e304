# SPDX-License-Identifier: Apache-2.0
"""The verb `show` prints a run, a phase or a structure, on every kind of terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from rich.text import Text

from numascape.appearance.palette import CATEGORIES
from numascape.console.strips import strip_of, users_of
from numascape.trace import Trace, write_trace
from synthetic.pattern import Pattern
from synthetic.patterns import block_matmul, hostile, many_phases, many_threads, sparse
from synthetic.write import info_of, write_pattern

Numascape = Callable[..., tuple[int, str, str]]


Printed = Callable[..., str]
COLOURS = {"FORCE_COLOR": "1", "TERM": "xterm-256color", "COLORTERM": "truecolor"}


@pytest.fixture
def printed(numascape: Numascape, monkeypatch: pytest.MonkeyPatch) -> Printed:
    """The output on a terminal of this width, with these variables of the environment."""

    def command(
        *arguments: object, width: int = 80, variables: dict[str, str] | None = None
    ) -> str:
        with monkeypatch.context() as environment:
            environment.setenv("COLUMNS", str(width))
            for name, value in (variables or {}).items():
                environment.setenv(name, value)
            status, out, err = numascape("show", *arguments)
        assert (status, err) == (0, "")
        return out

    return command


@pytest.fixture(scope="module")
def block(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """64 threads on 4 nodes; each quarter of A belongs to a node; all pages are on node 0."""
    folder = tmp_path_factory.mktemp("block")
    return write_pattern(block_matmul(512, 64), folder / "block.numascape").path


@pytest.fixture(scope="module", params=["hostile", "sparse", "many_threads"])
def any_trace(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Names that are hostile or long, a huge mapping, and a thousand threads."""
    made = {
        "hostile": hostile,
        "sparse": sparse,
        "many_threads": lambda: many_threads(1024, 1024, 16),
    }[request.param]
    return write_pattern(made(), tmp_path_factory.mktemp("any") / "any.numascape").path


@pytest.fixture(scope="module")
def phased(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thread 0 writes A in the phase "init"; both threads read it in "solve"; B in "run" only."""
    pattern = Pattern("phased", 2)
    a, b = pattern.structure("A", 10), pattern.structure("B", 10)
    page = np.arange(10)
    pattern.access(a, page, np.array(0), 0, 100)
    pattern.access(a, page, np.array([[0], [1]]), 300, 0)
    pattern.access(b, page, np.array(1), 5, 0)
    pattern.touch(a, page, 0)
    tables = pattern.tables()
    names = ("run", "init", "solve")
    tables["phases"] = pl.concat(
        tables["phases"].with_columns(phase=pl.lit(at, pl.UInt32), name=pl.lit(name))
        for at, name in enumerate(names)
    )
    phase = pl.when(pl.col("structure") == b).then(0).when(pl.col("writes") > 0).then(1)
    tables["accesses"] = tables["accesses"].with_columns(phase=phase.otherwise(2).cast(pl.UInt32))
    line = (a, 2, "solve", "phased.c", 71, 6000, 0)
    tables["source_lines"] = pl.DataFrame(
        [line],
        schema=["structure", "phase", "function", "file", "line", "reads", "writes"],
        orient="row",
    ).cast(dict.fromkeys(("structure", "phase", "line"), pl.UInt32))
    tables["source_lines"] = tables["source_lines"].cast({"reads": pl.UInt64, "writes": pl.UInt64})
    path = tmp_path_factory.mktemp("phased") / "phased.numascape"
    write_trace(path, tables, info_of(pattern.info()))
    return path


def test_a_strip_has_the_colour_of_who_uses_the_pages(printed: Printed, block: Path) -> None:
    out = Text.from_ansi(printed(block, variables=COLOURS))
    line = next(line for line in out.split() if line.plain.startswith("A  ") and "▇" in line.plain)
    colours = [str(span.style.color.name) for span in line.spans if span.style]  # type: ignore[union-attr]
    quarter = len(colours) // 4
    for node in range(4):
        assert colours[quarter * node + 2] == CATEGORIES[node]
    assert len(set(colours)) >= 4


@pytest.mark.parametrize("variables", [{}, {**COLOURS, "NO_COLOR": "1"}])
def test_without_colours_a_second_line_says_who(
    printed: Printed, block: Path, variables: dict[str, str]
) -> None:
    lines = printed(block, variables=variables).splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("A  ") and "@" in line)
    assert set(lines[at][10:].strip()) == {"@"}
    who = lines[at + 1].strip()
    assert who == "".join(sorted(who))
    assert {letter: who.count(letter) for letter in "0123"} == {
        letter: pytest.approx(len(who) / 4, abs=1) for letter in "0123"
    }


@pytest.mark.program
def test_where_only_ascii_is_known_nothing_else_is_printed(block: Path) -> None:
    environment = {**os.environ, **COLOURS, "COLUMNS": "80", "PYTHONIOENCODING": "ascii"}
    for structure in ([], ["--structure", "A"]):
        command = [sys.executable, "-m", "numascape", "show", str(block), *structure]
        plain = subprocess.run(
            command, env=environment, capture_output=True, encoding="utf-8", check=True
        ).stdout
        Text.from_ansi(plain).plain.encode("ascii")
        assert "@@@" in plain


@pytest.mark.parametrize("width", [40, 80, 132])
def test_tables_and_strips_fit(printed: Printed, any_trace: Path, width: int) -> None:
    out = Text.from_ansi(printed(any_trace, width=width, variables=COLOURS)).plain
    structures = [
        line for line in out.splitlines() if line.startswith(("Structure", "Threads per"))
    ]
    assert len(structures) == 2
    strips = [line for line in out.splitlines() if "▇" in line]
    assert strips
    assert max(map(len, strips)) <= width
    if width >= 80:
        table = out.split("Structure", 1)[1].split("Pages, first", 1)[0].splitlines()[1:]
        assert max(map(len, table)) <= width


def test_strips_have_the_traces_numbers(block: Path) -> None:
    trace = Trace.read(block)
    strip = strip_of(trace, 1, users_of(trace), 64)
    b = trace.accesses.filter(pl.col("structure") == 1)
    total = int(b["reads"].sum()) + int(b["writes"].sum())
    assert strip.mean.sum() * 512 / 64 == pytest.approx(total)
    assert strip.share.max() < 0.3
    narrow = strip_of(trace, 4, users_of(trace), 200)
    assert (narrow.mean > 0).sum() <= 1
    wide = strip_of(trace, 0, users_of(trace), 1024)
    assert (wide.mean > 0).all()


def test_the_traffic_between_nodes_is_told(printed: Printed, block: Path) -> None:
    out = printed(block, width=200)
    assert "Between nodes: 25.0 % of the accesses are local, 75.0 % remote" in out
    assert "threads on 3     25.0 %" in out
    local = next(line for line in out.splitlines() if line.startswith("A  "))
    assert " 25 % " in local


def test_how_many_threads_use_a_page_is_told(numascape: Numascape, trace_folder: Path) -> None:
    out = numascape("show", trace_folder)[1]
    rows = [line.split() for line in out.split("Threads per page")[1].splitlines()[1:]]
    assert rows == [["1", "33.3", "%", "3.2", "%"], ["2", "66.7", "%", "96.8", "%"]]


def test_phases_have_a_table(printed: Printed, phased: Path) -> None:
    out = printed(phased)
    table = out.split("Phase ")[1].splitlines()[1:4]
    shares = [(row.split()[0], row.split()[-3]) for row in table]
    assert [row.split()[0] for row in table] == ["run", "init", "solve"]
    assert any("14.2 %" in row for row in table[1:2]), shares
    assert any("85.1 %" in row for row in table[2:3]), shares


def test_one_phase_is_shown(numascape: Numascape, phased: Path) -> None:
    for wanted in ("init", "1"):
        out = numascape("show", phased, "--phase", wanted)[1]
        assert "below: phase 1, init only" in out
        a = next(line for line in out.splitlines() if line.startswith("A "))
        assert "100 % " in a
        assert "0r 1w" in a
        assert not any(line.startswith("B ") for line in out.splitlines())
    solve = numascape("show", phased, "--phase", "solve", "--structure", "A")[1]
    assert "below: phase 2, solve, only" in solve
    assert "init (phased.c:20)" not in solve
    assert "phased.c:20 init" in solve  # the first toucher, in any phase
    assert "phased.c:71 solve" in solve


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--phase", "slove"], "has no phase slove; there are solve"),
        (["--phase", "9"], "has no phase 9; there are run, init, solve"),
        (["--phase", "\x1b[31m"], r"has no phase \x1b[31m; there are run, init, solve"),
        (["--structure", "nothing"], "has no structure nothing"),
    ],
)
def test_mistakes_are_one_line(
    numascape: Numascape, phased: Path, options: list[str], message: str
) -> None:
    status, out, err = numascape("show", phased, *options)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_a_run_without_phases_says_so(numascape: Numascape, trace_folder: Path) -> None:
    status, _, err = numascape("show", trace_folder, "--phase", "solve")
    assert (status, err.count("\n")) == (2, 1)
    assert "was recorded without phases; docs/record.md says" in err


def test_a_structure_is_shown_in_detail(numascape: Numascape, trace_folder: Path) -> None:
    status, out, err = numascape("show", trace_folder, "--structure", "A")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[:3] == ["A", "heap, 8 KiB, 2 pages, sum.c:10 fill", "  from fill (sum.c:10)"]
    assert (
        "Thread 0 touched 100 % of the pages first (in fill (sum.c:12)), but thread 1 does" in out
    )
    assert "Initialise it in thread 1, which uses it, and not in fill (sum.c:12)." in out
    assert "     1 sum     0   912      0 47.1 %     2             0 " in out
    assert "sum.c:12 fill    thread 0     2 100 % " in out
    nothing = numascape("show", trace_folder, "--structure", "unused")[1]
    assert "No access to it was counted." in nothing


def test_source_lines_are_shown(numascape: Numascape, phased: Path) -> None:
    out = numascape("show", phased, "--structure", "A")[1]
    assert "phased.c:71 solve 6.00 k      0 100 %" in out
    assert [line.split()[0] for line in out.split("Phase ")[1].splitlines()[1:]] == [
        "init",
        "solve",
    ]


def test_json_follows_the_selection(numascape: Numascape, phased: Path) -> None:
    shown = json.loads(numascape("show", phased, "--json")[1])
    assert [row["name"] for row in shown["phases"]] == ["run", "init", "solve"]
    assert [row["name"] for row in shown["structures"]] == ["A", "B"]
    one = json.loads(numascape("show", phased, "--json", "--phase", "init", "--structure", "A")[1])
    assert [(row["name"], row["reads"], row["writes"]) for row in one["structures"]] == [
        ("A", 0, 1000)
    ]
    assert one["source_lines"] == []


def test_names_are_safe_for_a_terminal(printed: Printed, tmp_path: Path) -> None:
    path = write_pattern(hostile(), tmp_path / "hostile.numascape").path
    for number in range(6):
        out = printed(path, "--structure", number)
        assert "\x1b" not in out
        assert "\u202e" not in out


def test_of_many_phases_those_with_most_accesses_are_shown(
    numascape: Numascape, tmp_path: Path
) -> None:
    path = write_pattern(many_phases(8, 30, 64), tmp_path / "many.numascape").path
    status, out, err = numascape("show", path)
    assert (status, err) == (0, "")
    assert sum(line.startswith("step ") for line in out.splitlines()) == 20
    assert "10 phases with fewer accesses are not shown (--all)" in out
    every = numascape("show", path, "--all")[1]
    assert sum(line.startswith("step ") for line in every.splitlines()) == 30
    one = numascape("show", path, "--structure", "table")[1]
    assert sum(line.startswith("step ") for line in one.splitlines()) == 16
