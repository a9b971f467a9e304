# SPDX-License-Identifier: Apache-2.0
"""The command line: help, versions, and one line with status 2 for every mistake."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import numascape.commands
from numascape import __version__
from numascape.cli.app import build_app
from synthetic.heat import heat
from synthetic.write import write_pattern

Numascape = Callable[..., tuple[int, str, str]]
VERBS = [
    command.name or command.callback.__name__
    for command in build_app().registered_commands
    if command.callback
]


def in_new_process(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "numascape", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )


def test_version(numascape: Numascape) -> None:
    status, out, err = numascape("--version")
    first, *parts = out.splitlines()
    assert (status, first, err) == (0, f"numascape {__version__}", "")
    number = r"\d+\.\d+\S*"
    libraries = (
        rf"hwloc {number}, METIS {number}, Scotch {number}, elfutils {number}; Polars {number}"
    )
    expected = [
        r"native parts: built from commit ([0-9a-f]{12,}(\+changes)?|unknown)",
        rf"binary recorder: DynamoRIO {number} with \d+ patches",
        r"compiled recorder: (for LLVM 19\.\d\S*|not built)",
        f"libraries: built with {libraries}",
        "formats: trace 1, plan 1",
        rf"this system: Python {re.escape(platform.python_version())}, glibc .*",
    ]
    assert [
        one for one, line in zip(expected, parts, strict=True) if not re.fullmatch(one, line)
    ] == []


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(numascape: Numascape, verb: str) -> None:
    status, out, err = numascape(verb, "--help")
    assert (status, err) == (0, "")
    assert "Example:" in out
    assert f"numascape {verb}" in out


def test_help_lists_every_verb(numascape: Numascape) -> None:
    for command in ([], ["--help"], ["-h"]):
        status, out, _ = numascape(*command)
        assert status == 0
        assert all(f" {verb} " in out for verb in VERBS)


@pytest.mark.parametrize(("group", "verb"), [("machine", "probe"), ("host", "sweep")])
def test_a_group_alone_prints_its_help(numascape: Numascape, group: str, verb: str) -> None:
    status, out, err = numascape(group)
    assert (status, err) == (0, "")
    assert f" {verb} " in out


def test_verbs_are_files() -> None:
    folder = Path(numascape.commands.__file__).parent
    # The file of a verb that is a word of Python has an underscore at its end.
    assert sorted(path.stem.rstrip("_") for path in folder.glob("[a-z]*.py")) == sorted(VERBS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bogus"], "No such command 'bogus'; see: numascape --help"),
        (["plan", "a.numascape"], "use: numascape advise TRACE --machine MACHINE -o plan.toml"),
        (["machine", "list"], "use: numascape machine show --list"),
        (["a b.numascape"], "use: numascape report 'a b.numascape', or in the terminal"),
        (["/bin/ls", "-l", "a b"], "use: numascape record -- /bin/ls -l 'a b'"),
        (["ls"], "use: numascape record -- ls"),
        (["./absent", "5"], "use: numascape record -- ./absent 5"),
        (["flamegraph"], "use: numascape view TRACE"),
        (["probe"], "use: numascape machine probe"),
        (["bench"], "use: numascape machine bench"),
        (["-V"], "No such option: -V; use: numascape --version"),
        (["machine", "numa16"], "use: numascape machine show numa16"),
        (["machine", "bogus"], "see: numascape machine --help"),
        (["predict", "a b", "numa16"], "use: numascape predict 'a b' --machine numa16"),
        (["predict", "a", "bogus"], "see: numascape predict --help"),
        (["export", "a", "--format", "sarif", "-o", "b"], "use: numascape advise TRACE --sarif"),
        (["export", "a", "--format", "perfetto", "-o", "b"], "numascape export TRACE --format chr"),
        (["export", "a", "--format", "bogus", "-o", "b"], "see: numascape export --help"),
        (["machine", "show", "numa16", "-m", "numa32"], "two machines are named"),
        (["--bogus"], "No such option: --bogus; see: numascape --help"),
        (["show"], "Missing argument 'TRACE'; see: numascape show --help"),
        (["show", "--bogus"], "No such option: --bogus; see: numascape show --help"),
        (["show", "/absent"], "/absent does not exist"),
        (["show", "/dev/null"], "/dev/null is not a trace: it has no file trace.json"),
        (["import", "/absent"], "there is no file /absent"),
        (["import", "/dev/null"], "/dev/null is not a recording of perf: it is not a regular file"),
        (["export", "/absent"], "Missing option '--output' / '-o'; see: numascape export --help"),
        (["record"], "no program given: use numascape record -- PROGRAM, or --pid PID"),
        (["record", "--pid", "1", "--", "ls"], "give either a program or --pid, not both"),
        (["record", "--seconds", "1", "--", "ls"], "--seconds needs --pid"),
        (["record", "--pid", "1", "--seconds", "0"], "--seconds 0: must be more than 0"),
        (["record", "--pid", "1", "--seconds", "nan"], "--seconds nan: must be more than 0"),
        (["record", "--pid", "1", "--measure-cost"], "--measure-cost runs the program twice"),
        (["record", "--pid", "no one"], "no process is called 'no one'"),
        (["record", "--phases", "x"], "Invalid value for '--phases': 'x' is not one of 'all'"),
    ],
)
def test_mistakes_are_one_line(numascape: Numascape, arguments: list[str], message: str) -> None:
    status, out, err = numascape(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("numascape: error: ")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.program
def test_mistakes_are_one_line_in_a_real_process() -> None:
    result = in_new_process("show", "/absent")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "numascape: error: /absent does not exist\n"


@pytest.mark.program
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_offers_the_verbs(shell: str) -> None:
    # Typer would look for the shell that started this test, which may be one that it does not know.
    detects = "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"
    shown = in_new_process("--show-completion", shell, **{detects: "1"})
    assert "_NUMASCAPE_COMPLETE" in shown.stdout
    offered = in_new_process(
        _NUMASCAPE_COMPLETE=f"complete_{shell}",
        COMP_WORDS="numascape ex",
        COMP_CWORD="1",
        _TYPER_COMPLETE_ARGS="numascape ex",
        _TYPER_COMPLETE_FISH_ACTION="get-args",
    )
    assert "export" in offered.stdout


def test_show_prints_the_structures(numascape: Numascape, trace_folder: Path) -> None:
    status, out, err = numascape("show", trace_folder)
    assert (status, err) == (0, "")
    assert "100 % of them in structures named in the source" in out
    assert "96.8 %" in out
    assert "unused" not in out
    assert "1 structure below 0.01 % of accesses is not shown (--all)" in out
    assert "unused" in numascape("show", "--all", trace_folder)[1]


def test_show_begins_with_what_advise_finds(numascape: Numascape, tmp_path: Path) -> None:
    trace = write_pattern(heat(), tmp_path / "a b.numascape")
    shown = numascape("show", trace.path)[1]
    advised = numascape("advise", trace.path)[1]
    assert re.search(r"^1 +serial first touch +A$", advised, re.MULTILINE)
    head, *following = shown.splitlines()
    verdict = head.removeprefix("1 finding: serial first touch (A). ")
    assert verdict != head
    assert verdict in " ".join(advised.split())
    assert following[0] == f"Causes and fixes: numascape advise '{trace.path}'"
    assert "serial first touch" not in numascape("show", trace.path, "--phase", "sweep")[1]


def test_show_prints_json(numascape: Numascape, trace_folder: Path) -> None:
    status, out, _ = numascape("show", "--json", trace_folder)
    shown = json.loads(out)
    assert status == 0
    totals = shown["run"]["totals"]
    assert totals.pop("counted_reads") is totals.pop("counted_writes") is None
    assert totals == {"reads": 942, "writes": 1058, "pages": 3, "threads": 2}
    assert [row["name"] for row in shown["structures"]] == ["A", "B", "unused"]


@pytest.mark.program
def test_no_colour_into_a_pipe_nor_with_no_color(trace_folder: Path) -> None:
    assert "\x1b" not in in_new_process("show", trace_folder).stdout
    forced = in_new_process("show", trace_folder, FORCE_COLOR="1", TERM="xterm-256color")
    assert "\x1b[1m" in forced.stdout
    plain = in_new_process("show", "/absent", FORCE_COLOR="1", NO_COLOR="1", TERM="xterm")
    assert "\x1b[31m" not in plain.stderr
    assert "\x1b[1;31m" not in plain.stderr


@pytest.mark.program
def test_a_closed_pipe_is_no_error(trace_folder: Path) -> None:
    command = f"{sys.executable} -m numascape show --json {trace_folder} | true; echo $PIPESTATUS"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (result.stdout, result.stderr) == ("0\n", "")


@pytest.mark.program
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_full_disk_under_the_output_is_one_line(trace_folder: Path, options: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            [sys.executable, "-m", "numascape", "show", *options, trace_folder],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (result.returncode, result.stderr) == (
        2,
        "numascape: error: No space left on device\n",
    )


@pytest.mark.program
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&- <&-"])
def test_closed_standard_streams_are_no_error(trace_folder: Path, closed: str) -> None:
    command = f"{sys.executable} -m numascape show {trace_folder} {closed}"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_a_page_that_the_readme_names(verb: str) -> None:
    root = Path(__file__).parents[3]
    assert (root / "docs" / f"{verb}.md").read_text().startswith(f"# numascape {verb}\n")
    assert f"(docs/{verb}.md)" in (root / "README.md").read_text()


def test_help_and_version_are_also_words(numascape: Numascape) -> None:
    assert numascape("help", "show") == numascape("show", "--help")
    assert numascape("help") == numascape("--help")
    assert numascape("version") == numascape("--version")
