# SPDX-License-Identifier: Apache-2.0
"""Compiles C++ against the headers."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from quality.external import ROOT

INCLUDE = ROOT / "include"
HEADERS = sorted((INCLUDE / "numascape").glob("*.hpp"))
STRICT = ("-std=c++20", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wpedantic", "-Werror")


def compiled(
    source: str, *options: str | Path, compiler: str = "g++"
) -> subprocess.CompletedProcess[str]:
    """Give C++ to the compiler, with warnings as errors, and return its messages."""
    command: Sequence[str | Path] = [compiler, *STRICT, f"-I{INCLUDE}", "-x", "c++", "-"]
    return subprocess.run(
        [str(word) for word in [*command, *options]],
        input=source,
        capture_output=True,
        text=True,
        check=False,
    )


def precompiled(header: Path) -> None:
    """Compile a header: GCC uses the result, beside the header, if a file includes it first."""
    output = header.with_name(f"{header.name}.gch")
    command = ["g++", *STRICT, f"-I{INCLUDE}", "-x", "c++-header", str(header), "-o", str(output)]
    subprocess.run(command, check=True)


def examples(text: str, comment: str) -> list[str]:
    """Every complete program in the text: from its first #include to the end of its main.

    `comment` is what each line of it begins with.
    """
    found = []
    program: list[str] | None = None
    for line in text.splitlines():
        content = line.removeprefix(comment) if line.startswith(comment) else None
        if content is None and line != comment.rstrip():
            program = None
        elif program is None and content and content.startswith("#include"):
            program = [content]
        elif program is not None:
            program.append(content or "")
            if content == "}":
                found.append("\n".join([*program, ""]))
                program = None
    return found
