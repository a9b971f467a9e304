# SPDX-License-Identifier: Apache-2.0
"""Finds the accesses of a program's blocks by stepping through them natively."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
from iced_x86 import Decoder, Instruction

from fuzz.instructions.accesses import (
    Access,
    Component,
    Machine,
    accesses,
    needs_vectors,
    string_bytes,
    touches_memory,
)
from fuzz.instructions.forms import MNEMONICS
from fuzz.instructions.layout import (
    ARENA_BYTES,
    ARENA_PAGES,
    ARENA_START,
    CODE_START,
    PAGE,
    STEP,
    VECTORS,
)
from fuzz.instructions.program import SOURCES, Program

_COPIED_BYTES: Final = 8  # this number of single bytes of rep movs and stos is one access
_COPIES: Final = frozenset({"MOVS", "STOS", "LODS"})
Counts = dict[int, tuple[int, int]]  # page of the arena: reads, writes


@dataclass
class Truth:
    """The native accesses to each page of the arena."""

    counts: Counts = field(default_factory=dict)
    # A fault interrupted a gather or a scatter of these blocks, so some lanes may be done.
    unclear: set[int] = field(default_factory=set)  # blocks

    def add(self, access: Access, times: int = 1) -> None:
        pages = {
            (end - ARENA_START) // PAGE
            for address, size in access.extents
            for end in (*range(address, address + size, PAGE), address + size - 1)
        }
        for page in pages:
            reads, writes = self.counts.get(page, (0, 0))
            self.counts[page] = (reads, writes + times) if access.write else (reads + times, writes)


def _decoded(program: Program, first: int, count: int) -> dict[int, Instruction]:
    """Return the instructions of these blocks by address."""
    found = {}
    for number in range(first, min(first + count, len(program.blocks))):
        for instruction in Decoder(64, program.blocks[number].code, ip=program.starts[number]):
            found[instruction.ip] = instruction
    return found


def _symbol(program: Program, name: str) -> int:
    listing = subprocess.run(
        ["nm", program.executable], capture_output=True, text=True, check=True
    ).stdout
    return next(
        int(line.split()[0], 16) for line in listing.splitlines() if line.endswith(f" {name}")
    )


def _compile(stepper: Path) -> None:
    sources = (SOURCES / name for name in ("stepper.c", "components.c"))
    subprocess.run(
        ["gcc", "-O1", "-std=gnu11", "-Wall", "-Wextra", "-Werror", f"-DARENA_BYTES={ARENA_BYTES}",
         "-o", stepper, *sources], check=True
    )  # fmt: skip


def _step(program: Program, instructions: dict[int, Instruction], first: int, count: int) -> None:
    wanted = bytearray(len(program.code()))
    for address, instruction in instructions.items():
        if touches_memory(instruction):
            wanted[address - CODE_START] = 2 if needs_vectors(instruction) else 1
    (program.folder / "wanted.bin").write_bytes(wanted)
    stepper = program.folder / "stepper"
    if not stepper.exists():
        _compile(stepper)
    done = subprocess.run(
        [str(part) for part in (
            stepper, hex(_symbol(program, "block_jump")), hex(CODE_START), len(wanted),
            "wanted.bin", "steps.bin", "vectors.bin", program.executable, "stepped.results",
            first, count,
        )],
        cwd=program.folder, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(f"the stepper ended with {done.returncode}: {done.stderr}")


def read_components(listing: Path) -> dict[int, Component]:
    """Read where xsave writes the CPU's state components."""
    rows = (tuple(map(int, line.split())) for line in listing.read_text().splitlines())
    return {
        number: Component(offset, size, bool(aligned)) for number, offset, size, aligned in rows
    }


def copied_bytes(write: bool, low: int, high: int) -> Iterator[Access]:
    """Yield the accesses of a repeated string of single bytes: these are the first and the last."""
    for at in range(low, high + 1, _COPIED_BYTES):
        yield Access(write, [(at, min(_COPIED_BYTES, high + 1 - at))])


@dataclass
class _Run:
    """Elements of one execution of a repeated string of bytes."""

    address: int  # of the instruction
    low: dict[bool, int]
    high: dict[bool, int]

    def extend(self, found: list[Access]) -> None:
        for access in found:
            ((address, _),) = access.extents
            self.low[access.write] = min(self.low.get(access.write, address), address)
            self.high[access.write] = max(self.high.get(access.write, address), address)

    def accesses(self) -> Iterator[Access]:
        for write, low in self.low.items():
            yield from copied_bytes(write, low, self.high[write])


def copies_bytes(instruction: Instruction) -> bool:
    """Whether the recorder counts several elements of this repeated string at a time."""
    return (
        instruction.has_rep_prefix
        and instruction.is_string_instruction
        and MNEMONICS[instruction.mnemonic][:4] in _COPIES
        and string_bytes(instruction) == 1
    )


def find_truth(program: Program, first: int = 0, count: int | None = None) -> Truth:
    """Step through the program's blocks and count what they access."""
    count = len(program.blocks) if count is None else count
    instructions = _decoded(program, first, count)
    _step(program, instructions, first, count)
    components = read_components(program.folder / "components")
    steps = np.fromfile(program.folder / "steps.bin", STEP)
    vectors = np.fromfile(program.folder / "vectors.bin", VECTORS)
    truth = Truth()
    compact: set[int] = set()
    run: _Run | None = None
    gprs = steps["registers"]["gpr"].tolist()
    rips = steps["registers"]["rip"].tolist()
    rows = zip(gprs, rips, steps["gs_base"].tolist(), steps["vectors"].tolist(),
               steps["faulted"].tolist(), steps["unfinished"].tolist(), strict=True)  # fmt: skip
    begun = False  # a gather or a scatter with some lanes done: it is counted already
    for gpr, rip, gs_base, at, faulted, unfinished in rows:
        instruction = instructions[rip]
        if instruction.is_vsib:
            counted, begun = begun, bool(unfinished)
            if counted:
                continue
        if run is not None and (run.address != rip or faulted):
            for access in run.accesses():
                truth.add(access)
            run = None
        if faulted:
            if instruction.is_vsib:
                truth.unclear.add(_block_of(program, rip))
            continue
        machine = Machine(gpr, gs_base, components=components, compact=compact)
        if at >= 0:
            row = vectors[at]
            machine.zmm, machine.k, machine.st = row["zmm"], row["k"].tolist(), row["st"]
        found = accesses(instruction, machine)
        if copies_bytes(instruction):
            run = run or _Run(rip, {}, {})
            run.extend(found)
            if gpr[1] & (2**64 - 1) <= 1:  # its last element
                for access in run.accesses():
                    truth.add(access)
                run = None
            continue
        for access in found:
            truth.add(access)
    return truth


def _block_of(program: Program, address: int) -> int:
    return int(np.searchsorted(np.array(program.starts), address, "right")) - 1


def counts_of(counts: Counts, block: int) -> Counts:
    """Return the counts of one block's pages, numbered from its arena's first."""
    pages = range(block * ARENA_PAGES, (block + 1) * ARENA_PAGES)
    return {page - pages.start: counts[page] for page in pages if page in counts}
