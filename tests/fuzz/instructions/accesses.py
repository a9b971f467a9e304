# SPDX-License-Identifier: Apache-2.0
"""The accesses of one instruction with given registers; its decoder is not the recorder's.

An access is one load or store; it counts once on each page that it touches. Each element of a
string instruction and each lane of a gather is a separate access. The lanes that a mask selects are
together one access, to the memory of these lanes.
"""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Final

import numpy as np
from iced_x86 import (
    CodeSize,
    Instruction,
    InstructionInfoFactory,
    MemorySize,
    MemorySizeInfo,
    OpAccess,
    OpKind,
    Register,
    RegisterInfo,
    UsedMemory,
)

from fuzz.instructions.forms import MNEMONICS, REGISTERS, words

Extents = list[tuple[int, int]]  # addresses and sizes
_MASK64: Final = 2**64 - 1

_READS: Final = {OpAccess.READ, OpAccess.COND_READ, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE}
_WRITES: Final = {
    OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE
}  # fmt: skip
# These access their whole operand with any mask (exception classes E4NF and E6NF in the manuals;
# tested with inaccessible pages).
_WHOLE: Final = words(
    """VALIGND VALIGNQ VCVTNE2PS2BF16 VDBPSADBW VEXTRACTF32X4 VEXTRACTF32X8 VEXTRACTF64X2
    VEXTRACTF64X4 VEXTRACTI32X4 VEXTRACTI32X8 VEXTRACTI64X2 VEXTRACTI64X4 VGF2P8AFFINEINVQB
    VGF2P8AFFINEQB VINSERTF32X4 VINSERTF32X8 VINSERTF64X2 VINSERTF64X4 VINSERTI32X4 VINSERTI32X8
    VINSERTI64X2 VINSERTI64X4 VMOVDDUP VMOVSHDUP VMOVSLDUP VPACKSSDW VPACKSSWB VPACKUSDW VPACKUSWB
    VPALIGNR VPCONFLICTD VPCONFLICTQ VPERMB VPERMD VPERMI2B VPERMI2D VPERMI2PD VPERMI2PS VPERMI2Q
    VPERMI2W VPERMILPD VPERMILPS VPERMPD VPERMPS VPERMQ VPERMT2B VPERMT2D VPERMT2PD VPERMT2PS
    VPERMT2Q VPERMT2W VPERMW VPMADDUBSW VPMADDWD VPMULTISHIFTQB VPSHUFB VPSHUFD VPSHUFHW VPSHUFLW
    VPUNPCKHBW VPUNPCKHDQ VPUNPCKHQDQ VPUNPCKHWD VPUNPCKLBW VPUNPCKLDQ VPUNPCKLQDQ VPUNPCKLWD
    VSHUFF32X4 VSHUFF64X2 VSHUFI32X4 VSHUFI64X2 VSHUFPD VSHUFPS VUNPCKHPD VUNPCKHPS VUNPCKLPD
    VUNPCKLPS"""
)
_SHIFTS: Final = words("VPSLLW VPSLLD VPSLLQ VPSRAW VPSRAD VPSRAQ VPSRLW VPSRLD VPSRLQ")
_BY_BYTES: Final = frozenset({"MASKMOVQ", "MASKMOVDQU", "VMASKMOVDQU"})
_BY_VECTOR: Final = frozenset({"VMASKMOVPS", "VMASKMOVPD", "VPMASKMOVD", "VPMASKMOVQ"})
_BIT_TESTS: Final = frozenset({"BT", "BTS", "BTR", "BTC"})
_LEGACY: Final = {0: (0, 160), 1: (160, 256)}
_MXCSR: Final = (24, 8)
_XSAVES: Final = ("XSAVE", "XRSTOR")
_WIDTHS: Final = {"B": 1, "W": 2, "D": 4, "Q": 8}
_CACHE_HINTS: Final = ("PREFETCH", "CLFLUSH", "CLWB", "CLDEMOTE")
_NO_ACCESS: Final = frozenset({"NOP", "LEA"})


@dataclass(frozen=True)
class Access:
    write: bool
    extents: Extents


@dataclass(frozen=True)
class Component:
    """The place at which xsave writes one of the CPU's state components."""

    offset: int
    size: int
    aligned: bool  # when compacted


_HIGH_BYTES: Final = {REGISTERS[n] for n in ("AH", "CH", "DH", "BH")}
# For a general register: the number of the whole register, and its position and bits in it.
_PART_OF: Final = {
    register: (
        RegisterInfo(info.full_register).number,
        8 if register in _HIGH_BYTES else 0,
        (1 << 8 * info.size) - 1,
    )
    for register in REGISTERS.values()
    if REGISTERS["RAX"] <= (info := RegisterInfo(register)).full_register <= REGISTERS["R15"]
}


@dataclass
class Machine:
    """Registers before an instruction."""

    gpr: list[int]
    gs_base: int
    zmm: np.ndarray | None = None  # type: ignore[type-arg]
    k: list[int] | None = None
    st: np.ndarray | None = None  # type: ignore[type-arg]  # by the numbers of MMX registers
    components: dict[int, "Component"] = field(default_factory=dict)  # of xsave
    compact: set[int] = field(default_factory=set)  # areas that xsavec wrote

    def general(self, register: int) -> int:
        number, shift, mask = _PART_OF[register]
        part: int = self.gpr[number] >> shift & mask
        return part

    def vector(self, register: int) -> bytes:
        info = RegisterInfo(register)
        if REGISTERS["MM0"] <= register <= REGISTERS["MM7"]:
            assert self.st is not None
            return bytes(self.st[info.number][:8])
        assert self.zmm is not None
        return bytes(self.zmm[info.number][: info.size])


# BROADCAST512_FLOAT32 and the like: as many lanes as fit.
_MEMORY_SIZE_BITS: Final = {
    getattr(MemorySize, name): int(match[1])
    for name in dir(MemorySize)
    if (match := re.match(r"BROADCAST(\d+)_", name))
}
_factory: Final = InstructionInfoFactory()


def needs_vectors(instruction: Instruction) -> bool:
    """Whether vector or mask registers determine what the instruction accesses."""
    name = MNEMONICS[instruction.mnemonic]
    return instruction.is_vsib or instruction.has_op_mask or name in _BY_BYTES or name in _BY_VECTOR


def touches_memory(instruction: Instruction) -> bool:
    """Whether the instruction can access memory."""
    return bool(used_memory(instruction))


def used_memory(instruction: Instruction) -> list[UsedMemory]:
    """Return the operands through which the instruction accesses memory."""
    name = MNEMONICS[instruction.mnemonic]
    if name in _NO_ACCESS or name.startswith(_CACHE_HINTS):
        return []
    return [
        used
        for used in _factory.info(instruction).used_memory()
        if used.access in _READS or used.access in _WRITES
    ]


def _address(used: UsedMemory, machine: Machine) -> int:
    """Return the address of an operand without a vector of indices."""
    address: int = used.displacement
    if used.base not in (Register.NONE, Register.RIP, Register.EIP):
        address += machine.general(used.base)
    if used.index != Register.NONE and used.vsib_size == 0:
        address += machine.general(used.index) * used.scale
    address &= 0xFFFFFFFF if used.address_size == CodeSize.CODE32 else _MASK64
    if used.segment == Register.GS:
        address += machine.gs_base
    return address & _MASK64


def _lanes(mask: int, count: int) -> Iterator[int]:
    return (lane for lane in range(count) if mask >> lane & 1)


def _signs(vector: bytes, element: int) -> int:
    return sum(
        1 << at for at in range(len(vector) // element) if vector[(at + 1) * element - 1] & 0x80
    )


def _gathered(instruction: Instruction, used: UsedMemory, machine: Machine) -> list[Access]:
    element = MemorySizeInfo(instruction.memory_size).size
    index_bytes = 8 if instruction.is_vsib64 else 4
    indices = machine.vector(used.index)
    base = _address(used, machine)
    registers = [instruction.op_register(n) for n in range(instruction.op_count)
                 if instruction.op_kind(n) == OpKind.REGISTER]  # fmt: skip
    data = RegisterInfo(registers[0]).size if registers else 64
    count = min(data // element, len(indices) // index_bytes)
    if instruction.has_op_mask:
        assert machine.k is not None
        mask = machine.k[instruction.op_mask - Register.K0]
    else:
        mask = _signs(machine.vector(instruction.op2_register), element)
    values = struct.unpack(
        f"<{len(indices) // index_bytes}{'q' if index_bytes == 8 else 'i'}", indices
    )
    write = used.access in _WRITES
    narrow = used.address_size == CodeSize.CODE32
    addresses = ((base + values[lane] * used.scale) & (0xFFFFFFFF if narrow else _MASK64)
                 for lane in _lanes(mask, count))  # fmt: skip
    return [Access(write, [(address, element)]) for address in addresses]


def _selected(instruction: Instruction, address: int, machine: Machine) -> Extents:
    """The parts of a masked operand that its lanes touch."""
    name = MNEMONICS[instruction.mnemonic]
    info = MemorySizeInfo(instruction.memory_size)
    assert machine.k is not None
    mask = machine.k[instruction.op_mask - Register.K0]
    by_register = instruction.op_kind(instruction.op_count - 1) == OpKind.IMMEDIATE8
    if name in _WHOLE or (name in _SHIFTS and not by_register):
        size = MemorySizeInfo(info.element_type).size if instruction.is_broadcast else info.size
        return [(address, size)]
    widths = [RegisterInfo(instruction.op_register(n)).size for n in range(instruction.op_count)
              if instruction.op_kind(n) == OpKind.REGISTER]  # fmt: skip
    if "COMPRESS" in name or "EXPAND" in name:
        element = info.element_size
        return _packed(mask, widths[0], element, address)
    element = (
        MemorySizeInfo(info.element_type).size if instruction.is_broadcast else info.element_size
    )
    if name.startswith("VPDP"):
        element = 4  # whose bytes and words are multiplied
    elif name in {"VPMULDQ", "VPMULUDQ"}:
        element = 8  # whose lower halves are multiplied
    lanes = _lane_count(instruction, info, element)
    selected = mask & ((1 << lanes) - 1)
    if instruction.is_broadcast or (info.element_count == 1 and "BROADCAST" in name):
        return [(address, element)] if selected else []
    in_memory = info.size // element
    touched = {lane % in_memory for lane in _lanes(selected, lanes)}
    return [(address + at * element, element) for at in sorted(touched)]


def _packed(mask: int, width: int, element: int, address: int) -> Extents:
    bits = bin(mask & ((1 << width // element) - 1)).count("1")
    return [(address, bits * element)] if bits else []


def _lane_count(instruction: Instruction, info: MemorySizeInfo, element: int) -> int:
    name = MNEMONICS[instruction.mnemonic]
    if instruction.is_broadcast:
        return _MEMORY_SIZE_BITS[instruction.memory_size] // 8 // element
    if "BROADCAST" in name:
        width: int = RegisterInfo(instruction.op0_register).size
        return width // _broadcast_element(name, element)
    return int(info.size) // element


def _broadcast_element(name: str, element: int) -> int:
    if "32X" in name:
        return 4
    if "64X" in name:
        return 8
    return element


def _bit(instruction: Instruction, address: int, machine: Machine) -> Extents:
    size = MemorySizeInfo(instruction.memory_size).size
    if instruction.op1_kind != OpKind.REGISTER:
        return [(address, size)]
    value = machine.general(instruction.op1_register)
    bits = 8 * size
    value -= 1 << bits if value >> (bits - 1) else 0
    return [(address + value // bits * size, size)]


def _by_vector(instruction: Instruction, name: str, address: int, machine: Machine) -> Extents:
    if name in _BY_BYTES:
        # DI, data, mask
        vector = machine.vector(instruction.op2_register)
        element = 1
    else:
        element = 8 if name.endswith(("PD", "Q")) else 4
        vector = machine.vector(instruction.op1_register)  # of loads and stores alike
    signs = _signs(vector, element)
    return [(address + lane * element, element) for lane in _lanes(signs, len(vector) // element)]


def _saved_state(name: str, area: int, machine: Machine) -> Access:
    """For xsave and related instructions: the header and the requested components."""
    write = name.startswith("XSAVE")
    if write:
        machine.compact.discard(area)
        if "XSAVEC" in name:
            machine.compact.add(area)
    asked = machine.gpr[0]
    found = [(512, 64)]
    found += [where for number, where in _LEGACY.items() if asked >> number & 1]
    found += [_MXCSR] if asked & 6 else []
    packed = 576
    for number, component in machine.components.items():
        if asked >> number & 1:
            packed = (packed + 63) // 64 * 64 if component.aligned else packed
            offset = packed if area in machine.compact else component.offset
            packed += component.size
            found.append((offset, component.size))
    return Access(write, [(area + offset, size) for offset, size in found])


@cache
def _plain_bytes(memory_size: int, *, broadcast: bool) -> int:
    info = MemorySizeInfo(memory_size)
    return int(MemorySizeInfo(info.element_type).size if broadcast else info.size)


def accesses(instruction: Instruction, machine: Machine) -> list[Access]:
    """Return the accesses of the instruction, or of the next element of a repeated string."""
    name = MNEMONICS[instruction.mnemonic]
    found: list[Access] = []
    repeated = instruction.has_rep_prefix or instruction.has_repne_prefix
    if instruction.is_string_instruction and repeated:
        narrow = any(u.address_size == CodeSize.CODE32 for u in used_memory(instruction))
        if machine.gpr[1] & (0xFFFFFFFF if narrow else _MASK64) == 0:
            return []
    for used in used_memory(instruction):
        if instruction.is_vsib:
            return _gathered(instruction, used, machine)
        address = _address(used, machine)
        if name in _BIT_TESTS:
            extents = _bit(instruction, address, machine)
        elif name.startswith(_XSAVES):
            return [_saved_state(name, address, machine)]
        elif name in _BY_BYTES or name in _BY_VECTOR:
            extents = _by_vector(instruction, name, address, machine)
        elif instruction.has_op_mask:
            extents = _selected(instruction, address, machine)
        elif instruction.is_string_instruction:
            extents = [(address, string_bytes(instruction))]
        else:
            size = _plain_bytes(used.memory_size, broadcast=instruction.is_broadcast)
            extents = [(address, size)]
        if used.access in _READS:
            found.append(Access(False, extents))
        if used.access in _WRITES:
            found.append(Access(True, extents))
    return [access for access in found if access.extents]


def string_bytes(instruction: Instruction) -> int:
    """Return the size of a string instruction's element."""
    return _WIDTHS[MNEMONICS[instruction.mnemonic][4]]
