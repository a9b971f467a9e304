# SPDX-License-Identifier: Apache-2.0
"""A block under construction: the known values of registers, and instructions that fit them.

Only the block's own memory may be accessed, so addresses come from registers with known values.
They are loaded before the block. If an instruction writes a register, the value of the register is
unknown afterwards, unless it changes by a known amount.
"""

import random
from typing import Final, NamedTuple

from iced_x86 import (
    Code,
    Encoder,
    Instruction,
    InstructionInfoFactory,
    Mnemonic,
    OpAccess,
    Register,
    RegisterInfo,
)

from fuzz.instructions.forms import REGISTERS, words
from fuzz.instructions.layout import DATA_PAGES, GENERAL, PAGE, STACK_PAGE, arena_of

RSP: Final = 4
_WRITES: Final = {OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE,
                  OpAccess.READ_COND_WRITE}  # fmt: skip
_SHIFTS: Final = {
    getattr(Mnemonic, name) for name in words("ROL ROR RCL RCR SHL SHR SAL SAR SHLD SHRD")
}
_POINTERS: Final = (3, 5, 6, 7, 12, 13, 8)
_INDEXES: Final = (1, 9, 14)
FULL: Final = [REGISTERS[name.upper()] for name in GENERAL]
_NUMBER: Final = {register: number for number, register in enumerate(FULL)}
_SIZED: Final = {
    "R64": FULL,
    "R32": [REGISTERS[n] for n in ("EAX", "ECX", "EDX", "EBX", "ESP", "EBP", "ESI", "EDI")]
    + [REGISTERS[f"R{n}D"] for n in range(8, 16)],
    "R16": [REGISTERS[n] for n in ("AX", "CX", "DX", "BX", "SP", "BP", "SI", "DI")]
    + [REGISTERS[f"R{n}W"] for n in range(8, 16)],
    "R8": [REGISTERS[n] for n in ("AL", "CL", "DL", "BL", "SPL", "BPL", "SIL", "DIL")]
    + [REGISTERS[f"R{n}L"] for n in range(8, 16)],
}
_HIGH_BYTES: Final = [REGISTERS[n] for n in ("AH", "CH", "DH", "BH")]


# An operand that lies in one cache line, instead of an alignment.
LOCKED: Final = -1


class CannotMakeError(Exception):
    """The form does not fit the known values at this place."""


def sized(width: str, number: int) -> int:
    """Return the register of this number and width (R8, R16, R32, R64)."""
    return _SIZED[width][number]


_GENERAL_OF: Final = {
    register: _NUMBER[full]
    for register in REGISTERS.values()
    if (full := RegisterInfo(register).full_register) in _NUMBER
}
_VECTOR_OF: Final = {
    register: full - REGISTERS["ZMM0"]
    for register in REGISTERS.values()
    if REGISTERS["ZMM0"] <= (full := RegisterInfo(register).full_register) <= REGISTERS["ZMM31"]
}


class Snapshot(NamedTuple):
    """A builder's state."""

    length: int
    known: dict[int, int]
    indices: dict[int, int]
    undefined: int
    ever_undefined: int
    fixed: set[int]
    backward: bool
    next_label: int | None


class Builder:
    """The content of a block so far."""

    def __init__(self, rng: random.Random, block: int) -> None:
        self.rng = rng
        self.arena = arena_of(block)
        self.data_end = self.arena + DATA_PAGES * PAGE
        self.instructions: list[Instruction] = []
        self.known: dict[int, int] = {}
        self.gpr = [self._random_value() for _ in range(16)]
        for number in _POINTERS:
            self.gpr[number] = self.known[number] = self.arena + rng.randrange(DATA_PAGES * PAGE)
        for number in _INDEXES:
            self.gpr[number] = self.known[number] = rng.randrange(-512, 512) & (2**64 - 1)
        self.gpr[RSP] = self.known[RSP] = (
            self.arena + (STACK_PAGE + 1) * PAGE + rng.choice((-8, 0, 8, 4, -3, 16, 64, -64))
        )
        self.stack = (
            self.arena + STACK_PAGE * PAGE + 512,
            self.arena + (STACK_PAGE + 2) * PAGE - 512,
        )
        # Vector registers that hold indices: of 4 or of 8 bytes.
        chosen = rng.sample(range(16), 4) + rng.sample(range(16, 32), 4)
        self.indices: dict[int, int] = {n: 4 if at % 2 else 8 for at, n in enumerate(chosen)}
        self.first_indices = dict(self.indices)
        self.undefined = 0  # flags
        self.ever_undefined = 0
        self.fixed: set[int] = set()  # registers that a loop needs unchanged
        self.backward = False  # the direction flag
        self.segments = False  # every operand has a segment
        self.restored: set[int] = set()  # areas that xrstor has read
        self._labels = 0
        self._next_label: int | None = None
        self._info = InstructionInfoFactory()
        self._encoder = Encoder(64)

    def _random_value(self) -> int:
        rng = self.rng
        kind = rng.randrange(5)
        if kind == 0:
            return rng.randrange(-128, 128) & (2**64 - 1)
        if kind == 1:
            return rng.choice((0, 1, 2**63 - 1, 2**63, 2**64 - 1, 2**32 - 1, 2**31, 2**32))
        if kind == 2:
            return rng.getrandbits(32)
        return rng.getrandbits(64)

    # --- registers

    def pointers(self) -> list[int]:
        """Return the registers that point into the block's data."""
        return [n for n, v in self.known.items() if n != RSP and self.arena <= v < self.data_end]

    def small(self) -> list[int]:
        """Return the registers that hold small numbers."""
        return [n for n, v in self.known.items() if (v + 4096) % 2**64 < 8192]

    def general(self, width: str, *, high_byte: bool = False) -> int:
        """Choose a register for an operand; seldom one whose value is known."""
        if high_byte and self.rng.random() < 0.1:
            return self.rng.choice(_HIGH_BYTES[:3])
        unknown = [n for n in range(16) if n not in self.known and n != RSP]
        if not unknown or self.rng.random() < 0.15:
            unknown = [n for n in range(16) if n != RSP]
        return sized(width, self.rng.choice(unknown))

    # --- memory

    def address(self, size: int, align: int = 1, margin: int = 0) -> int:
        """Choose where an operand lies: often at or across a page's end."""
        rng = self.rng
        low, high = self.arena + margin, self.data_end - size - margin
        kind = rng.randrange(8)
        if kind < 4:
            boundary = self.arena + rng.choice((1, 2)) * PAGE
            at = boundary - rng.randrange(max(size, 1) + 2)
        elif kind == 4:
            at = self.arena + rng.randrange(DATA_PAGES) * PAGE + rng.choice((0, 64, PAGE - size))
        else:
            at = rng.randrange(low, high)
        at = min(max(at, low), high)
        if align == LOCKED:
            # The kernel slows down threads that lock across cache lines.
            at -= at % 64 if at % 64 + size > 64 else 0
        elif align > 1:
            at -= at % align
            at += align if at < low else 0
        return at

    def set_memory(self, instruction: Instruction, size: int, align: int = 1, *, margin: int = 0,
                   at: int | None = None) -> None:  # fmt: skip
        """Give an instruction a memory operand of this size, anywhere in the block's memory."""
        rng = self.rng
        if at is None and margin == 0 and align == 1 and rng.random() < 0.06:
            self._set_stack_memory(instruction, size)
            return
        target = self.address(size, align, margin) if at is None else at
        kind = rng.random()
        if self.segments:
            self._set_near_memory(instruction, size, align, margin, at)
            return
        if rng.random() < 0.03 and 0.11 <= kind <= 0.95:
            instruction.segment_prefix = Register.GS  # its base is zero
        if kind < 0.08:
            self._set_base(instruction, Register.RIP, target, 8)
            return
        if kind < 0.11:
            self._set_base(instruction, Register.NONE, target, 4)
            return
        pointers = self.pointers()
        if not pointers:
            pointers = [self.make_pointer()]
        base = rng.choice(pointers)
        near = [n for n in pointers if abs(self.known[n] - target) < 512]
        if near and at is None and rng.random() < 0.5:
            base = rng.choice(near)
        elif at is None and align == 1 and rng.random() < 0.3:
            # Close to a base: one byte of displacement.
            step = max(size, 1)
            target = self.known[base] + rng.randrange(-16, 16) * step
            target = min(max(target, self.arena + margin), self.data_end - size - margin)
        displacement = target - self.known[base]
        narrow = kind > 0.95
        if kind > 0.6 and self.small():
            index = rng.choice(self.small())
            scale = rng.choice((1, 2, 4, 8))
            value = self.known[index]
            if narrow and value >= 2**31:
                narrow = False
            value -= 2**64 if value >= 2**63 else 0
            displacement -= value * scale
            instruction.memory_index = sized("R32" if narrow else "R64", index)
            instruction.memory_index_scale = scale
        self._set_base(instruction, sized("R32" if narrow else "R64", base), displacement, 8)

    def _set_near_memory(self, instruction: Instruction, size: int, align: int,
                         margin: int, at: int | None) -> None:  # fmt: skip
        """Give an operand with a segment, and one byte of displacement if the alignment allows."""
        bases = self.pointers() or [self.make_pointer()]
        base = self.rng.choice(bases)
        target = self.address(size, align, margin) if at is None else at
        if align == 1 and at is None:
            steps = self.rng.choice((1, 2, 3, -1)) * max(size, 1)
            target = min(max(self.known[base] + steps, self.arena + margin),
                         self.data_end - size - margin)  # fmt: skip
        instruction.segment_prefix = Register.GS
        self._set_base(instruction, FULL[base], target - self.known[base], 8)

    def _set_base(self, instruction: Instruction, base: int, displacement: int, size: int) -> None:
        if base not in (Register.RIP, Register.NONE):
            size = 1 if -128 <= displacement < 128 else 8
        instruction.memory_base = base
        instruction.memory_displacement = displacement & (2**64 - 1)
        instruction.memory_displ_size = size

    def _set_stack_memory(self, instruction: Instruction, size: int) -> None:
        if RSP not in self.known or size > 128:
            raise CannotMakeError
        self._set_base(instruction, Register.RSP, self.rng.randrange(-256, 256), 8)

    def make_pointer(self) -> int:
        """Load an address into a register."""
        number = self.rng.choice([n for n in _POINTERS if n not in self.fixed])
        self.load(number, self.address(8))
        return number

    def load(self, number: int, value: int) -> None:
        """Load a known value into a register."""
        if number in self.fixed:
            raise CannotMakeError
        if value < 2**32:
            self.append(Instruction.create_reg_u32(Code.MOV_R32_IMM32, sized("R32", number), value))
        else:
            self.append(Instruction.create_reg_u64(Code.MOV_R64_IMM64, FULL[number], value))
        self.known[number] = value

    # --- instructions

    def snapshot(self) -> "Snapshot":
        """Return a snapshot for `restore`."""
        return Snapshot(len(self.instructions), dict(self.known), dict(self.indices),
                        self.undefined, self.ever_undefined, set(self.fixed), self.backward,
                        self._next_label)  # fmt: skip

    def restore(self, snapshot: "Snapshot") -> None:
        """Undo everything since the snapshot."""
        (length, self.known, self.indices, self.undefined, self.ever_undefined, self.fixed,
         self.backward, self._next_label) = snapshot  # fmt: skip
        del self.instructions[length:]

    def append(self, instruction: Instruction) -> None:
        """Add an instruction; what it writes is unknown afterwards."""
        try:
            self._encoder.encode(instruction, 0x08000000)
        except ValueError as error:
            raise CannotMakeError from error
        finally:
            self._encoder.take_buffer()
        if instruction.rflags_read & self.undefined:
            raise CannotMakeError
        written = [
            used.register
            for used in self._info.info(instruction).used_registers()
            if used.access in _WRITES
        ]
        numbers = {_GENERAL_OF[register] for register in written if register in _GENERAL_OF}
        if numbers & self.fixed:
            raise CannotMakeError
        for number in numbers - {RSP}:
            self.known.pop(number, None)
        if RSP in numbers:
            moved = instruction.stack_pointer_increment
            value = self.known.get(RSP, 0) + moved
            if moved == 0 or not self.stack[0] <= value < self.stack[1]:
                raise CannotMakeError
            self.known[RSP] = value
        vectors = {_VECTOR_OF[register] for register in written if register in _VECTOR_OF}
        if self.fixed and vectors.intersection(self.indices):
            raise CannotMakeError
        for vector in vectors:
            self.indices.pop(vector, None)
        undefined = instruction.rflags_undefined & 0x3F
        # A shift by 0 leaves the flags as they are.
        defined = 0 if instruction.mnemonic in _SHIFTS else instruction.rflags_modified
        self.undefined = (self.undefined & ~defined) | undefined
        self.ever_undefined |= undefined
        self.add(instruction)

    def add(self, instruction: Instruction) -> None:
        """Add an instruction; the caller knows its effects."""
        instruction.ip = self._next_label or self.label()
        self._next_label = None
        self.instructions.append(instruction)

    def label(self) -> int:
        """Return a new label, for `place` and for branches."""
        self._labels += 1
        return self._labels

    def place(self, label: int) -> None:
        """The next instruction is the target of this label."""
        if self._next_label is not None:
            self.add(Instruction.create(Code.NOPD))
        self._next_label = label

    def forget_branch(self, known: dict[int, int], indices: dict[int, int]) -> None:
        """Keep only what is known both with and without the skipped instructions."""
        self.known = {n: v for n, v in known.items() if self.known.get(n) == v}
        self.indices = {n: v for n, v in indices.items() if self.indices.get(n) == v}
