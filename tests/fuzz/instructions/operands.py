# SPDX-License-Identifier: Apache-2.0
"""Random operands for a form of instruction: registers, memory, masks, immediates."""

import re
from functools import cache
from typing import Final

from iced_x86 import Instruction, OpKind, Register, RoundingControl

from fuzz.instructions.builder import LOCKED, Builder, CannotMakeError, sized
from fuzz.instructions.forms import REGISTERS, Form, words

_IMMEDIATES: Final = {
    "IMM8": (OpKind.IMMEDIATE8, 8),
    "IMM8_CONST_1": (OpKind.IMMEDIATE8, 0),
    "IMM4_M2Z": (OpKind.IMMEDIATE8, 4),
    "IMM16": (OpKind.IMMEDIATE16, 16),
    "IMM32": (OpKind.IMMEDIATE32, 32),
    "IMM64": (OpKind.IMMEDIATE64, 64),
    "IMM8SEX16": (OpKind.IMMEDIATE8TO16, 8),
    "IMM8SEX32": (OpKind.IMMEDIATE8TO32, 8),
    "IMM8SEX64": (OpKind.IMMEDIATE8TO64, 8),
    "IMM32SEX64": (OpKind.IMMEDIATE32TO64, 32),
}
_FIXED: Final = {"AL", "AX", "EAX", "RAX", "CL", "DX", "ST0"}
# The SSE instructions with accesses of 16 bytes that accept any address.
_UNALIGNED_SSE: Final = words(
    """MOVUPS MOVUPD MOVDQU LDDQU PCMPESTRI PCMPESTRM PCMPISTRI PCMPISTRM PCMPESTRI64
    PCMPESTRM64"""
)
_ALIGNED: Final = words(
    """VMOVAPS VMOVAPD VMOVDQA VMOVDQA32 VMOVDQA64 VMOVNTPS VMOVNTPD VMOVNTDQ VMOVNTDQA CMPXCHG16B
    AADD AAND AOR AXOR"""
)
_BIT_TESTS: Final = frozenset({"BT", "BTS", "BTR", "BTC"})
_VECTORS: Final = frozenset({"XMM_", "YMM_", "ZMM_"})
_MARGIN: Final = 520  # bytes that a bit's number reaches (Builder.small)
_GATHER_MARGIN: Final = 4128


@cache
def _general_width(kind: str) -> str | None:
    match = re.match(r"(R(8|16|32|64))_", kind)
    return match[1] if match else None


def alignment_of(form: Form) -> int:
    """Return the required alignment of the form's operand."""
    if form.name in _ALIGNED:
        return form.bytes
    if form.info.can_use_lock_prefix or form.name == "XCHG":
        return LOCKED
    legacy = form.info.encoding == 0
    if legacy and form.bytes == 16 and form.name not in _UNALIGNED_SSE:
        return 16
    return 1


def _vector(builder: Builder, width: str, *, high: bool, taken: set[int]) -> int:
    """Choose a vector register; seldom one that holds indices."""
    rng = builder.rng
    avoided = builder.indices if rng.random() < 0.97 else {}
    number = rng.randrange(32 if high else 16)
    while number in taken or number in avoided:  # there are at most 8, and 2 others
        number = rng.randrange(32 if high else 16)
    taken.add(number)
    return REGISTERS[f"{width}{number}"]


def _index_vector(builder: Builder, kind: str, *, high: bool, taken: set[int]) -> int:
    index_bytes = int(kind[8:10]) // 8
    width = {"X": "XMM", "Y": "YMM", "Z": "ZMM"}[kind[10]]
    limit = 32 if high else 16
    usable = [
        n
        for n, size in builder.indices.items()
        if size == index_bytes and n < limit and n not in taken
    ]
    if not usable:
        raise CannotMakeError
    number = builder.rng.choice(usable)
    taken.add(number)
    return REGISTERS[f"{width}{number}"]


class _Operands:
    def __init__(self, builder: Builder, form: Form, at: int | None) -> None:
        self.builder = builder
        self.form = form
        self.instruction = Instruction()
        self.instruction.code = form.code
        self.high = form.info.encoding == 2  # EVEX: 32 vector registers
        self.unique: set[int] = set()  # vector registers that must differ
        self.memory = False
        self.address = at

    def register(self, at: int, register: int) -> None:
        self.instruction.set_op_kind(at, OpKind.REGISTER)
        self.instruction.set_op_register(at, register)

    def set(self, at: int, kind: str) -> None:
        builder = self.builder
        if kind in _IMMEDIATES:
            self._immediate(at, kind)
        elif kind in _FIXED:
            self.register(at, REGISTERS[kind])
        elif kind.startswith("MEM_VSIB"):
            self._vsib(at, kind)
        elif kind == "MEM" or kind == "MEM_OFFS" or (
            kind.endswith("_OR_MEM") and (self.address or builder.rng.random() < 0.75)
        ):  # fmt: skip
            self._memory(at, absolute=kind == "MEM_OFFS")
        elif width := _general_width(kind):
            if self.form.name in _BIT_TESTS and at == 1 and self.memory:
                if not builder.small():
                    raise CannotMakeError
                self.register(at, sized(width, builder.rng.choice(builder.small())))
            else:
                self.register(at, builder.general(width, high_byte=width == "R8"))
        elif kind[:4] in _VECTORS:
            distinct = self.form.info.requires_unique_reg_nums
            taken = self.unique if distinct else set()
            high = self.high and "_IS" not in kind
            self.register(at, _vector(builder, kind[:3], high=high, taken=taken))
        elif kind.startswith("MM_"):
            self.register(at, REGISTERS[f"MM{builder.rng.randrange(8)}"])
        elif kind.startswith("K_"):
            self.register(at, REGISTERS[f"K{builder.rng.randrange(8)}"])
        elif kind == "STI_OPCODE":
            self.register(at, REGISTERS[f"ST{builder.rng.randrange(8)}"])
        else:
            raise CannotMakeError(kind)

    def _immediate(self, at: int, kind: str) -> None:
        op_kind, bits = _IMMEDIATES[kind]
        self.instruction.set_op_kind(at, op_kind)
        value = self.builder.rng.getrandbits(bits) if bits else 1
        if "SEX" in kind and value >> (bits - 1):
            value = (value - (1 << bits)) & (2**64 - 1)
        self.instruction.set_immediate_u64(at, value)

    def _memory(self, at: int, *, absolute: bool) -> None:
        form, rng = self.form, self.builder.rng
        self.instruction.set_op_kind(at, OpKind.MEMORY)
        self.memory = True
        size = form.bytes or 8
        if self.address is not None:
            if absolute:
                raise CannotMakeError
            self.builder.set_memory(self.instruction, size, at=self.address)
            return
        if absolute:
            self.instruction.memory_displacement = self.builder.address(size)
            self.instruction.memory_displ_size = 8
            return
        if form.broadcast_bytes and rng.random() < 0.4:
            self.instruction.is_broadcast = True
            size = form.broadcast_bytes
        if form.name == "LAR":
            # DynamoRIO uses the destination register, but this form may not write it: no segment.
            self.builder.set_memory(self.instruction, size, at=self.builder.address(size))
            self.instruction.segment_prefix = Register.NONE
            return
        margin = _MARGIN if form.name in _BIT_TESTS and form.kinds[1].startswith("R") else 0
        self.builder.set_memory(self.instruction, size, alignment_of(form), margin=margin)

    def _vsib(self, at: int, kind: str) -> None:
        builder, rng = self.builder, self.builder.rng
        self.instruction.set_op_kind(at, OpKind.MEMORY)
        index = _index_vector(builder, kind, high=self.high, taken=self.unique)
        pointers = builder.pointers() or [builder.make_pointer()]
        base = rng.choice(pointers)
        target = builder.address(8, margin=_GATHER_MARGIN)
        within = (builder.arena + _GATHER_MARGIN, builder.data_end - _GATHER_MARGIN - 8)
        if rng.random() < 0.5 and within[0] <= builder.known[base] < within[1]:
            target = builder.known[base] + rng.randrange(-16, 16) * 8  # one byte
        self.instruction.memory_base = sized("R64", base)
        self.instruction.memory_index = index
        if builder.segments:
            self.instruction.segment_prefix = Register.GS
        self.instruction.memory_index_scale = rng.choice((1, 2, 4, 8))
        self.instruction.memory_displacement = (target - builder.known[base]) & (2**64 - 1)
        self.instruction.memory_displ_size = 8

    def _rounds(self) -> bool:
        # DynamoRIO does not decode a rounding mode that the CPU ignores.
        info = self.form.info
        return info.can_use_rounding_control and not info.ignores_rounding_control

    def decorate(self) -> None:
        """Masks, rounding, lock."""
        info, rng, instruction = self.form.info, self.builder.rng, self.instruction
        if info.can_use_op_mask_register and (info.require_op_mask_register or rng.random() < 0.65):
            instruction.op_mask = REGISTERS[f"K{rng.randrange(1, 8)}"]
            to_register = instruction.op0_kind == OpKind.REGISTER
            if info.can_use_zeroing_masking and to_register and rng.random() < 0.5:
                instruction.zeroing_masking = True
        if not self.memory and self._rounds() and rng.random() < 0.3:
            instruction.rounding_control = rng.choice(
                (RoundingControl.ROUND_DOWN, RoundingControl.ROUND_UP,
                 RoundingControl.ROUND_TOWARD_ZERO, RoundingControl.ROUND_TO_NEAREST)
            )  # fmt: skip
        elif not self.memory and info.can_suppress_all_exceptions and rng.random() < 0.3:
            instruction.suppress_all_exceptions = True
        if info.can_use_lock_prefix and instruction.op0_kind == OpKind.MEMORY:
            instruction.has_lock_prefix = rng.random() < 0.3


def make(builder: Builder, form: Form, at: int | None = None) -> Instruction:
    """Make an instruction of this form; `at`: where its memory operand lies."""
    operands = _Operands(builder, form, at)
    for operand in sorted(range(len(form.kinds)), key=lambda n: "VSIB" not in form.kinds[n]):
        operands.set(operand, form.kinds[operand])
    operands.decorate()
    return operands.instruction


def append_form(builder: Builder, form: Form, at: int | None = None) -> None:
    """Add an instruction of this form to a block; `at`: where its memory operand lies."""
    builder.append(make(builder, form, at))
