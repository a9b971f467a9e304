# SPDX-License-Identifier: Apache-2.0
"""The measured programs: the examples, and kernels of other kinds."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

ROOT = Path(__file__).parents[1]
KERNELS = ROOT / "build" / "bench-kernels"
EXAMPLES = ROOT / "examples" / "build"


@dataclass(frozen=True)
class Program:
    """A program at two sizes; the `reduced` one takes some milliseconds, for lackey.

    A program that `--also` names has no reduced size.
    """

    name: str
    path: Path
    arguments: tuple[str, ...]
    reduced: tuple[str, ...] | None
    character: str

    def command(self, reduced: bool = False) -> list[str]:
        return [str(self.path), *((self.reduced or ()) if reduced else self.arguments)]


def example(version: str, arguments: str, reduced: str, character: str) -> Program:
    name, choice = version.split()
    return Program(
        version,
        EXAMPLES / name,
        (*arguments.split(), choice),
        (*reduced.split(), choice),
        character,
    )


def kernel(name: str, arguments: str, reduced: str, character: str) -> Program:
    return Program(
        name, KERNELS / name, tuple(arguments.split()), tuple(reduced.split()), character
    )


PROGRAMS = (
    example("matmul naive", "-n 768", "-n 112", "columns of a shared matrix, pthreads"),
    example("matmul block", "-n 768", "-n 112", "blocks of a shared matrix, pthreads"),
    example("bucketsort dynamic", "-n 22", "-n 14 -m 12", "random increments, OpenMP"),
    example("bucketsort halves", "-n 22", "-n 14 -m 12", "random increments, OpenMP"),
    example("seismic serial", "-n 100 -s 20", "-n 20 -s 4", "3-D stencil, 12 fields, OpenMP"),
    example("seismic parallel", "-n 100 -s 20", "-n 20 -s 4", "3-D stencil, 12 fields, OpenMP"),
    kernel("spmv", "200000 100", "5000 10", "sparse matrix-vector, indirect reads, OpenMP"),
    kernel("fft", "18 25", "12 5", "power-of-two strides, complex arithmetic"),
    kernel("pointer_chase", "262144 20", "4096 80", "dependent loads that miss the caches"),
    kernel("containers", "200000 15", "5000 2", "C++ unordered_map, vector, string"),
    kernel("recursion", "13", "10", "recursive calls, accesses on the stack"),
)

Also = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=COMMAND",
        help="Another program; repeatable. OMP_NUM_THREADS says how many threads it uses.",
    ),
]


def other_program(text: str) -> Program:
    """The program of `NAME=COMMAND`. Raises BadParameter if it is not of this form."""
    name, _, command = text.partition("=")
    words = shlex.split(command)
    if not name or not words:
        raise typer.BadParameter(f"{text!r} is not NAME=COMMAND", param_hint="--also")
    path = shutil.which(words[0])
    if path is None:
        raise typer.BadParameter(f"{words[0]!r} is not a program", param_hint="--also")
    return Program(name, Path(path).absolute(), tuple(words[1:]), None, command)


def choose(only: Sequence[str] | None, also: Sequence[str] | None) -> list[Program]:
    """The programs with these names, or all of them. Raises BadParameter if there is none."""
    known = [*PROGRAMS, *map(other_program, also or [])]
    chosen = [p for p in known if not only or p.name.split()[0] in only or p.name in only]
    if not chosen:
        names = "".join(f"\n  {program.name}: {program.character}" for program in known)
        raise typer.BadParameter(f"no such program; there are:{names}")
    return chosen


def threads_note() -> str:
    """How many threads the environment gives to programs with OpenMP."""
    threads = os.environ.get("OMP_NUM_THREADS")
    return f"OMP_NUM_THREADS is {threads}." if threads else "OMP_NUM_THREADS is not set."


def build() -> None:
    """Build everything that is measured. Raises CalledProcessError when a compiler fails."""
    for directory, arguments in (
        (ROOT / "examples", []),
        (ROOT / "bench" / "kernels", [f"BUILD={KERNELS}"]),
    ):
        subprocess.run(["make", "-s", "-C", str(directory), *arguments], check=True)
