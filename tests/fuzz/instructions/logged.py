# SPDX-License-Identifier: Apache-2.0
"""Finds the accesses of a program's blocks by their code with traps, which runs natively.

This is many times faster than to step through all instructions (truth.py). The code with traps is
elsewhere, so a block that uses an address of its own code as data may do something else. The
stepper decides in such a case.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
from iced_x86 import CodeSize, Decoder, Instruction

from fuzz.instructions.accesses import Access, Machine, accesses, string_bytes, used_memory
from fuzz.instructions.layout import LOGGED, VECTORS, logged_start
from fuzz.instructions.program import Program, run
from fuzz.instructions.traps import is_repeated, is_trap
from fuzz.instructions.truth import Counts, Truth, copied_bytes, copies_bytes, read_components

_BACKWARD: Final = 0x400  # the direction flag
_RCX: Final = 1


def _trapped(program: Program) -> dict[int, Instruction]:
    """Return the instruction at each trap, by the address behind the trap."""
    found: dict[int, Instruction] = {}
    for block, start in zip(program.blocks, program.starts, strict=True):
        last = None
        trap = False
        for instruction in Decoder(64, block.logged, ip=logged_start(start)):
            if is_trap(instruction):
                trap = last is None or not is_repeated(last)
                if last is not None and is_repeated(last):
                    found[instruction.next_ip] = last
            elif trap:
                found[instruction.ip] = instruction
                trap = False
            last = instruction
    return found


def _elements(instruction: Instruction, before: Machine, left: int, step: int) -> Iterator[Access]:
    """Yield the accesses of a repeated string that stopped with `left` elements undone."""
    narrow = any(used.address_size == CodeSize.CODE32 for used in used_memory(instruction))
    mask = 0xFFFFFFFF if narrow else 2**64 - 1
    done = (before.gpr[_RCX] & mask) - (left & mask)
    if done == 0:
        return
    for first in accesses(instruction, before):
        ((address, size),) = first.extents
        low = address if step > 0 else address + (done - 1) * step
        if copies_bytes(instruction):
            yield from copied_bytes(first.write, low, low + done - 1)
        else:
            for at in range(low, low + done * size, size):
                yield Access(first.write, [(at, size)])


def find_logged(program: Program, first: int = 0, count: int | None = None) -> Counts:
    """Run the code with traps and count what it accesses; meaningless for blocks that fault."""
    run(program, "logged", first=first, count=count, after=[program.folder])
    trapped = _trapped(program)
    machine = Machine([], 0, components=read_components(program.folder / "components"))
    rows = np.fromfile(program.folder / "rows.bin", LOGGED)
    vectors = np.fromfile(program.folder / "vectors.bin", VECTORS)
    truth = Truth()
    registers = rows["registers"]
    columns = zip(registers["rip"].tolist(), registers["gpr"].tolist(),
                  registers["flags"].tolist(), rows["gs_base"].tolist(),
                  rows["vectors"].tolist(), strict=True)  # fmt: skip
    begun: tuple[Instruction, list[int]] | None = None  # a repeated string
    for rip, gpr, flags, machine.gs_base, at in columns:
        instruction = trapped[rip]
        machine.gpr = gpr
        if at >= 0:
            row = vectors[at]
            machine.zmm, machine.k, machine.st = row["zmm"], row["k"].tolist(), row["st"]
        if rip != instruction.ip:  # behind a repeated string
            if begun is not None and begun[0] is instruction:
                machine.gpr = begun[1]
                step = string_bytes(instruction) * (-1 if flags & _BACKWARD else 1)
                for access in _elements(instruction, machine, gpr[_RCX], step):
                    truth.add(access)
            begun = None
        elif is_repeated(instruction):
            begun = instruction, gpr
        else:
            for access in accesses(instruction, machine):
                truth.add(access)
    return truth.counts
