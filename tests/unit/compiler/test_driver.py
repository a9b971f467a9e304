# SPDX-License-Identifier: Apache-2.0
"""The words that the compiler wrappers add to a command line, and when they add none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from numascape.compiler.driver import CC, command_line


@pytest.fixture(autouse=True)
def _compiler(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any program can stand for the compiler if the test starts none."""
    if request.node.get_closest_marker("compiler") is None:
        monkeypatch.setenv(CC.variable, sys.executable)


def added(*arguments: str) -> tuple[bool, bool]:
    """Whether the pass and the stub are added; nothing else may be linked with."""
    line = command_line(CC, arguments)
    ours = [word for word in line[1:] if word not in arguments]
    assert not any(word.startswith("-Wl") for word in ours)
    return (
        any(word.startswith("-fpass-plugin=") for word in ours),
        any(word.endswith("numascape-stub.o") for word in ours),
    )


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("x.c -o x", (True, True)),
        ("-O2 -c x.c -o x.o", (True, False)),
        ("-shared -fPIC x.c -o libx.so", (True, True)),
        ("x.o y.a -o x", (False, True)),
        ("-shared x.o -o libx.so", (False, True)),
        ("-r x.o y.o -o z.o", (False, False)),
        ("-E x.c", (True, False)),
        ("-x c -", (True, True)),
        ("-x c++-header x.hpp -o x.pch", (True, False)),
        ("x.h", (True, False)),
        ("--version", (False, False)),
        ("-o x.c -v", (False, False)),
        ("-print-prog-name=ld", (False, False)),
    ],
)
def test_what_is_added(arguments: str, expected: tuple[bool, bool]) -> None:
    assert added(*arguments.split()) == expected


@pytest.mark.compiler
def test_no_option_is_warned_of(tmp_path: Path) -> None:
    """There is no warning, even if the suffix of a linked file does not show its type."""
    source = tmp_path / "x.c"
    source.write_text("int main(void) { return 0; }\n")
    for arguments in (f"-c {source} -o {tmp_path}/x.odd", f"{tmp_path}/x.odd -o {tmp_path}/x"):
        command = command_line(CC, [*arguments.split(), "-Werror"])
        subprocess.run(command, check=True, cwd=tmp_path)
    assert added("x.o", "libz.so.1.3") == (False, True)


def test_response_files_count_as_what_is_in_them(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.write_text("-shared 'a b.o'\n")
    (tmp_path / "outer").write_text(f"@{inner} -o x.so")
    assert added(f"@{tmp_path / 'outer'}") == (False, True)
    inner.write_text("-c a.c")
    assert added(f"@{tmp_path / 'outer'}") == (True, False)


def test_a_response_file_that_is_none_is_a_file(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.write_text(f"@{loop}")
    for word in (f"@{tmp_path / 'gone'}", f"@{tmp_path}", f"@{loop}"):
        assert added(word) == (True, True)


@pytest.mark.program
def test_it_starts_without_what_is_slow_to_load() -> None:
    command = "import sys; import numascape.compiler.driver; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"dataclasses", "inspect", "polars", "typer", "importlib.metadata"} & set(loaded)
