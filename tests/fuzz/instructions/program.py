# SPDX-License-Identifier: Apache-2.0
"""Builds blocks as an executable, runs it natively or under a recorder, and reads its results."""

import random
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from fuzz.instructions.blocks import Block
from fuzz.instructions.layout import ARENA_START, CODE_START, FIRST_BLOCK, RESULT

SOURCES: Final = Path(__file__).parent / "programs"
Results = npt.NDArray[np.void]


@dataclass(frozen=True)
class Program:
    folder: Path
    blocks: list[Block]
    starts: list[int]

    @property
    def executable(self) -> Path:
        return self.folder / "runner"

    @property
    def code(self) -> bytes:
        """All bytes from CODE_START on, without the jump to it."""
        return bytes(16) + (self.folder / "blocks.bin").read_bytes()


class Placer:
    """Chooses the addresses of blocks: one after the other, with gaps."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self.next = FIRST_BLOCK

    def after(self, code: bytes) -> int:
        """Return the bytes to leave free behind this code."""
        gap = self._rng.choice((0, 0, 1, 5, 16))
        self.next += len(code) + gap
        return gap


def write_program(folder: Path, blocks: Sequence[Block], gaps: Sequence[int]) -> Program:
    """Write the files that the runner is linked with."""
    folder.mkdir(parents=True, exist_ok=True)
    code, starts = b"", []
    parts = []
    at = FIRST_BLOCK
    for block, gap in zip(blocks, gaps, strict=True):
        starts.append(at)
        parts.append(block.code + b"\xcc" * gap)
        at += len(parts[-1])
    code = b"".join(parts)
    (folder / "blocks.bin").write_bytes(code)
    (folder / "arena.bin").write_bytes(b"".join(block.memory for block in blocks))
    (folder / "states.bin").write_bytes(b"".join(block.state.tobytes() for block in blocks))
    return Program(folder, list(blocks), starts)


def build(program: Program, compiler: Sequence[str] = ("gcc",)) -> None:
    """Compile and link the runner with the program's blocks."""
    sources = [shutil.copy(SOURCES / name, program.folder) for name in
               ("runner.c", "runner.h", "enter.S", "blocks.S")]  # fmt: skip
    command = [
        *compiler, "-O1", "-g", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fno-pie", "-no-pie",
        f"-Wl,--section-start=.blocks={CODE_START:#x}",
        f"-Wl,--section-start=.arena={ARENA_START:#x}",
        "-o", "runner", *(source for source in sources if not str(source).endswith(".h")),
    ]  # fmt: skip
    subprocess.run(command, cwd=program.folder, check=True, capture_output=True, text=True)


def run(program: Program, name: str, before: Sequence[str | Path] = (), first: int = 0,
        count: int | None = None) -> Results:  # fmt: skip
    """Run the program's blocks with the recorder `before`; return the result of each."""
    output = program.folder / f"{name}.results"
    count = len(program.blocks) if count is None else count
    command = [*before, program.executable, output, first, count]
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=600, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"{name}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return np.fromfile(output, RESULT)
