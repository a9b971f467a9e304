# SPDX-License-Identifier: Apache-2.0
"""A block's code with a trap before each access, so that its registers can be logged.

`int3` asks for general registers, `int 3` of two bytes also for vector registers. A repeated string
has a trap behind it, too.
"""

from collections.abc import Callable, Iterator, Sequence

from iced_x86 import Code, Instruction

from fuzz.instructions.accesses import needs_vectors, touches_memory


def is_repeated(instruction: Instruction) -> bool:
    """Whether this is a string instruction with a prefix that repeats it."""
    repeats = instruction.has_rep_prefix or instruction.has_repne_prefix
    return bool(instruction.is_string_instruction and repeats)


def is_trap(instruction: Instruction) -> bool:
    """Whether this is one of the traps."""
    return instruction.code in {Code.INT3, Code.INT_IMM8}


def _trap(instruction: Instruction) -> Instruction:
    if needs_vectors(instruction):
        return Instruction.create_u32(Code.INT_IMM8, 3)
    return Instruction.create(Code.INT3)


def with_traps(
    instructions: Sequence[Instruction], label: Callable[[], int]
) -> Iterator[Instruction]:
    """Yield the instructions of a block and the traps; `label` returns a new label.

    A branch to an instruction goes to its trap.
    """
    for instruction in instructions:
        if not touches_memory(instruction):
            yield instruction
            continue
        trap = _trap(instruction)
        trap.ip = instruction.ip
        yield trap
        trapped = instruction.copy()
        trapped.ip = label()
        yield trapped
        if is_repeated(instruction):
            behind = Instruction.create(Code.INT3)
            behind.ip = label()
            yield behind
