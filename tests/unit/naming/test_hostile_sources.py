# SPDX-License-Identifier: Apache-2.0
"""Source files are not trusted: with any content, naming returns a name."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass

import pytest

from numascape.naming import name_allocation, sources
from numascape.naming.destination import LONGEST_NAME
from numascape.naming.sources import LARGEST_FILE


@dataclass(frozen=True)
class SourceFrame:
    file: str
    line: int = 1
    column: int = 1
    function: str = "f"
    module: str = "/opt/program"


def random_bytes(count: int) -> bytes:
    return random.Random(7).randbytes(count)


HOSTILE = {
    "binary": random_bytes(100_000),
    "long_line": b"int *p = malloc(1); " * 500_000,
    "huge": b"x\n" * LARGEST_FILE,
    "open_brackets": b"(" * 60_000 + b"\n" + b"(" * 60_000,
    "open_braces": b"void f() {\n" * 20_000,
    "nested_calls": b"void f() { p = " + b"g(" * 9_000 + b"malloc(1)" + b")" * 9_000 + b"; }",
    "nested_sums": b"void *f() { return " + b"p+" * 30_000 + b"p; }",
    "no_newline": b"void f() { a = malloc(1);",
    "only_operators": b"*&*&=-->..,;?:" * 4_000,
    "bad_utf8": b"void f() { \xff\xfe\xc0\xaf = malloc(1); }",
    "control": b"void f() { a[\x1b[31m\x07] = malloc(1); }",
    "quotes": b'"\'"\'/*//*/ R"(((( malloc(1)\n' * 2000,
    "empty": b"",
}


@pytest.mark.parametrize("suffix", [".c", ".cpp", ".f90", ".f", ".rs"])
@pytest.mark.parametrize("content", HOSTILE)
def test_any_content_gives_a_printable_name(content, suffix, tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "PARSE_SECONDS", 0.02)
    source = tmp_path / f"hostile{suffix}"
    source.write_bytes(HOSTILE[content])
    for line, column in [(1, 0), (1, 1), (1, 16), (1, 30_000), (2, 5), (2**31, 2**31)]:
        found = name_allocation([SourceFrame(str(source), line, column)])
        assert found.name
        assert found.name.isprintable()
        assert len(found.name) <= LONGEST_NAME + 20


def test_things_that_are_no_files_are_not_waited_for(tmp_path):
    fifo = tmp_path / "fifo.c"
    os.mkfifo(fifo)
    for path in [fifo, tmp_path, "/dev/zero", "/proc/self/mem", "relative.c", "/no/such.c", "/\0"]:
        assert name_allocation([SourceFrame(str(path), 7)]).name == "f+7"


def test_no_frames_give_a_name_too():
    assert name_allocation([]).name == "unknown"


def test_a_long_name_is_cut(tmp_path):
    source = tmp_path / "long.c"
    source.write_text(f"void f() {{\n{'a' * 5000} = malloc(1);\n}}\n")
    name = name_allocation([SourceFrame(str(source), 2, 5004)]).name
    assert len(name) == LONGEST_NAME
    assert name.endswith("…")


def test_a_file_is_read_again_when_it_has_changed(tmp_path):
    source = tmp_path / "f.c"
    source.write_text("void f() { first = malloc(1); }\n")
    assert name_allocation([SourceFrame(str(source), 1, 20)]).name == "first"
    source.write_text("void f() { other2 = malloc(1); }\n")
    assert name_allocation([SourceFrame(str(source), 1, 21)]).name == "other2"
