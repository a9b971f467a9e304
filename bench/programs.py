# SPDX-License-Identifier: Apache-2.0
"""The measured programs: the examples, and kernels of other kinds."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
KERNELS = ROOT / "build" / "bench-kernels"
EXAMPLES = ROOT / "examples" / "build"


@dataclass(frozen=True)
class Program:
    """A program at two sizes; the `reduced` one takes some milliseconds, for lackey."""

    name: str
    path: Path
    arguments: tuple[str, ...]
    reduced: tuple[str, ...]
    character: str

    def command(self, reduced: bool = False) -> list[str]:
        return [str(self.path), *(self.reduced if reduced else self.arguments)]


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


def build() -> None:
    """Build everything that is measured. Raises CalledProcessError when a compiler fails."""
    for directory, arguments in (
        (ROOT / "examples", []),
        (ROOT / "bench" / "kernels", [f"BUILD={KERNELS}"]),
    ):
        subprocess.run(["make", "-s", "-C", str(directory), *arguments], check=True)
