# SPDX-License-Identifier: Apache-2.0
"""Builds blocks as an executable, runs it natively or under a recorder, and reads its results."""

import random
import shutil
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from fuzz.instructions.blocks import Block
from fuzz.instructions.executable import write_sections
from fuzz.instructions.layout import (
    ARENA_BYTES,
    ARENA_START,
    BLOCK_BYTES,
    CODE_START,
    FIRST_BLOCK,
    LOGGED_BYTES,
    LOGGED_START,
    RESULT,
    STATE,
    logged_start,
)
from fuzz.instructions.states import memory_of, states_of

SOURCES: Final = Path(__file__).parent / "programs"
_FILES: Final = (
    "runner.c", "log.c", "components.c", "runner.h", "log.h", "components.h", "enter.S", "blocks.S"
)  # fmt: skip
_NO_CODE: Final = b"\xcc"
Results = npt.NDArray[np.void]


@dataclass(frozen=True)
class Program:
    folder: Path
    blocks: list[Block]
    starts: list[int]
    seed: int

    @property
    def executable(self) -> Path:
        return self.folder / "runner"

    def code(self) -> bytes:
        """Return all bytes from CODE_START on, without the jump to it."""
        return _placed(CODE_START, self.starts, [block.code for block in self.blocks])

    def logged(self) -> bytes:
        """Return all bytes from LOGGED_START on: the code with traps."""
        starts = [logged_start(start) for start in self.starts]
        return _placed(LOGGED_START, starts, [block.logged for block in self.blocks])


def _placed(base: int, starts: Sequence[int], codes: Sequence[bytes]) -> bytes:
    """Return the codes at their addresses, and traps between them."""
    parts = []
    at = base
    for start, code in zip(starts, codes, strict=True):
        assert at <= start
        parts += [_NO_CODE * (start - at), code]
        at = start + len(code)
    return b"".join(parts)


def make_program(folder: Path, seed: int, makers: Iterable[Callable[[int], Block]]) -> Program:
    """Make blocks with `makers`, given their addresses: one after the other, with gaps."""
    rng = random.Random(seed)
    blocks, starts = [], []
    at = FIRST_BLOCK
    for make in makers:
        starts.append(at)
        blocks.append(make(at))
        at += len(blocks[-1].code) + rng.choice((0, 0, 1, 5, 16))
    return Program(folder, blocks, starts, seed)


def _size(program: Program) -> dict[str, int]:
    """Return the constants of blocks.S."""
    count = len(program.blocks)
    return {
        "BLOCKS": count,
        "CODE_BYTES": BLOCK_BYTES * (count + 16),
        "LOGGED_BYTES": LOGGED_BYTES,
        "ARENA_BYTES": ARENA_BYTES,
        "STATE_BYTES": STATE.itemsize,
    }


def _compile(program: Program, compiler: Sequence[str]) -> None:
    """Compile and link the runner, with room for the blocks."""
    program.folder.mkdir(parents=True, exist_ok=True)
    sources = [shutil.copy(SOURCES / name, program.folder) for name in _FILES]
    command = [
        *compiler, "-O1", "-g", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fno-pie", "-no-pie",
        *(f"-D{name}={value}" for name, value in _size(program).items()),
        f"-Wl,--section-start=.blocks={CODE_START:#x}",
        f"-Wl,--section-start=.logged={LOGGED_START:#x}",
        f"-Wl,--section-start=.arena={ARENA_START:#x}",
        "-o", "runner", *(source for source in sources if not str(source).endswith(".h")),
    ]  # fmt: skip
    subprocess.run(command, cwd=program.folder, check=True, capture_output=True, text=True)


def build(program: Program, compiler: Sequence[str] = ("gcc",)) -> None:
    """Make the executable; one in the same folder with the same room is used again."""
    made_for = f"{compiler} {_size(program)}"
    mark = program.folder / "made-for"
    if not mark.exists() or mark.read_text() != made_for:
        _compile(program, compiler)
        mark.write_text(made_for)
    rng = np.random.default_rng(program.seed)
    states = states_of(program.blocks, program.starts, rng)
    memory = memory_of(len(program.blocks), rng)
    write_sections(program.executable, {
        ".blocks": (FIRST_BLOCK - CODE_START, [program.code()[FIRST_BLOCK - CODE_START :]]),
        ".logged": (0, [program.logged()]),
        ".states": (0, [states.tobytes()]),
        ".arena": (0, memory),
    })  # fmt: skip


def run(program: Program, name: str, before: Sequence[str | Path] = (), first: int = 0,
        count: int | None = None, after: Sequence[str | Path] = ()) -> Results:  # fmt: skip
    """Run the program's blocks with the recorder `before`; return the result of each."""
    output = program.folder / f"{name}.results"
    count = len(program.blocks) if count is None else count
    command = [*before, program.executable, output, first, count, *after]
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=600, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"{name}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return read_results(output)


def read_results(output: Path) -> Results:
    """Read what the runner wrote."""
    return np.memmap(output, RESULT, "r") if output.stat().st_size else np.zeros(0, RESULT)
