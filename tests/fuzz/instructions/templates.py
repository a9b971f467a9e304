# SPDX-License-Identifier: Apache-2.0
"""Groups of instructions that need certain values in registers or memory to be harmless."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from iced_x86 import Code, Instruction, MemoryOperand, OpKind, Register, RepPrefixKind

from fuzz.instructions.builder import FULL, RSP, Builder, CannotMakeError, sized
from fuzz.instructions.forms import REGISTERS
from fuzz.instructions.layout import PAGE
from fuzz.instructions.segments import (
    read_limit,
    read_selector,
    set_base_of_fs,
    set_base_of_gs,
)

RAX, RCX, RDX, RBX, RBP, RSI, RDI = 0, 1, 2, 3, 5, 6, 7
_COMPONENTS: Final = 0xE7  # the components of xsave: no protection keys, no tiles
_XSAVE_BYTES: Final = 2752
_ENVIRONMENTS: Final = (Code.FNSAVE_M108BYTE, Code.FNSTENV_M28BYTE)
_LOW_FLAGS: Final = 0x8D5
_ZERO_FLAG: Final = 0x04  # of iced_x86.RflagsBits
LOOPS: Final = (
    Code.LOOP_REL8_64_RCX, Code.LOOP_REL8_64_ECX, Code.LOOPE_REL8_64_RCX, Code.LOOPE_REL8_64_ECX,
    Code.LOOPNE_REL8_64_RCX, Code.LOOPNE_REL8_64_ECX,
)  # fmt: skip
COUNTER_BRANCHES: Final = (Code.JRCXZ_REL8_64, Code.JECXZ_REL8_64, *LOOPS)
# Values of rcx or ecx. The upper half of rcx distinguishes the two.
_COUNTS: Final = (0, 1, 2, 1 << 32, (1 << 32) + 1, 1 << 63, (1 << 63) + 1)


@dataclass(frozen=True)
class Template:
    """A way to add instructions."""

    add: Callable[[Builder], None]


def _at(address: int) -> MemoryOperand:
    return MemoryOperand(displ=address, displ_size=4)


def _direction(builder: Builder, backward: bool) -> None:
    if builder.backward != backward:
        builder.append(Instruction.create(Code.STD if backward else Code.CLD))
        builder.backward = backward


def _string(builder: Builder, name: str, width: int) -> None:
    rng = builder.rng
    letter = {1: "b", 2: "w", 4: "d", 8: "q"}[width]
    compares = name in {"cmps", "scas"}
    prefixes = (RepPrefixKind.NONE, RepPrefixKind.REPE, RepPrefixKind.REPNE)
    prefix = rng.choice(prefixes if compares else prefixes[:2])
    repeated = prefix != RepPrefixKind.NONE
    count = rng.choice((0, 1, 2, rng.randrange(40), rng.randrange(40), rng.randrange(700)))
    count = count if repeated else 1
    if compares and count == 0 and builder.undefined:
        raise CannotMakeError  # it leaves the flags as they are
    _direction(builder, rng.random() < 0.3)
    bytes_ = max(count, 1) * width
    back = bytes_ - width if builder.backward else 0
    if repeated:
        builder.load(RCX, count)
    if name in {"movs", "cmps", "lods"}:
        builder.load(RSI, builder.address(bytes_) + back)
    if name != "lods":
        builder.load(RDI, builder.address(bytes_) + back)
    if name == "cmps" and rng.random() < 0.5:  # equal to the end
        builder.append(Instruction.create_reg_reg(Code.MOV_R64_RM64, FULL[RDI], FULL[RSI]))
    size = 32 if rng.random() < 0.1 else 64
    create = getattr(Instruction, f"create_{name}{letter}")
    if name in {"stos", "scas"}:
        builder.append(create(size, prefix))
    else:
        builder.append(create(size, Register.NONE, prefix))
    if builder.backward and rng.random() < 0.7:
        _direction(builder, False)


def _push_or_pop(builder: Builder) -> None:
    rng = builder.rng
    kind = rng.randrange(10)
    instruction = Instruction()
    if kind < 3:
        instruction = Instruction.create_reg(Code.PUSH_R64, sized("R64", rng.randrange(16)))
    elif kind == 3:
        instruction = Instruction.create_reg(Code.PUSH_R16, sized("R16", rng.randrange(16)))
    elif kind == 4:
        instruction = Instruction.create_i32(Code.PUSHQ_IMM8, rng.randrange(-128, 128))
    elif kind == 5:
        instruction = Instruction.create(Code.PUSHFQ)
    elif kind < 8:
        instruction = Instruction.create_reg(Code.POP_R64, builder.general("R64"))
    elif kind == 8:
        instruction = Instruction.create_reg(Code.POP_R16, builder.general("R16"))
    else:
        code = rng.choice((Code.PUSH_RM64, Code.POP_RM64, Code.PUSH_RM16, Code.POP_RM16))
        instruction.code = code
        instruction.set_op_kind(0, OpKind.MEMORY)
        size = 8 if code in {Code.PUSH_RM64, Code.POP_RM64} else 2
        builder.set_memory(instruction, size, at=builder.address(size))
    builder.append(instruction)


def _set_flags(builder: Builder) -> None:
    flags = builder.rng.getrandbits(12) & _LOW_FLAGS | 2
    builder.append(Instruction.create_i32(Code.PUSHQ_IMM32, flags | 0x200))
    builder.append(Instruction.create(Code.POPFQ))
    builder.backward = False
    builder.undefined = 0


def _enter_and_leave(builder: Builder) -> None:
    rng = builder.rng
    if RSP not in builder.known or RBP in builder.fixed or builder.fixed:
        raise CannotMakeError
    level = rng.choice((0, 0, 1, 2))
    builder.load(RBP, builder.known[RSP] + 64)
    frame = rng.randrange(0, 128)
    builder.add(Instruction.create_u32_u32(Code.ENTERQ_IMM16_IMM8, frame, level))
    builder.known.pop(RBP, None)
    builder.add(Instruction.create(Code.LEAVEQ))


def _call(builder: Builder) -> None:
    """Call the next instructions, and return after them."""
    if RSP not in builder.known:
        raise CannotMakeError
    callee, after = builder.label(), builder.label()
    rng = builder.rng
    kind = rng.randrange(3)
    if kind == 0:
        builder.add(Instruction.create_branch(Code.CALL_REL32_64, callee))
    else:
        number = rng.choice([n for n in range(16) if n != RSP and n not in builder.fixed])
        code = Code.LEA_R64_M
        builder.known.pop(number, None)
        builder.add(Instruction.create_reg_mem(code, FULL[number], _label_operand(callee)))
        if kind == 1:
            builder.add(Instruction.create_reg(Code.CALL_RM64, FULL[number]))
        else:
            at = builder.address(8)
            builder.add(Instruction.create_mem_reg(Code.MOV_RM64_R64, _at(at), FULL[number]))
            builder.add(Instruction.create_mem(Code.CALL_RM64, _at(at)))
    builder.add(Instruction.create_branch(Code.JMP_REL32_64, after))
    builder.place(callee)
    kind = rng.randrange(3)
    if kind == 0:
        builder.add(Instruction.create_reg_i32(Code.ADD_RM64_IMM8, Register.RSP, 0))
    popped = 8 * rng.randrange(1, 4) if kind == 1 else 0
    if builder.known[RSP] + popped >= builder.stack[1]:
        raise CannotMakeError
    if popped:
        builder.add(Instruction.create_u32(Code.RETNQ_IMM16, popped))
        builder.known[RSP] += popped
    else:
        builder.add(Instruction.create(Code.RETNQ))
    builder.place(after)


def _jump(builder: Builder) -> None:
    """Jump over an instruction, to an address in a register or in memory."""
    rng = builder.rng
    after = builder.label()
    number = rng.choice([n for n in range(16) if n != RSP and n not in builder.fixed])
    builder.known.pop(number, None)
    builder.add(Instruction.create_reg_mem(Code.LEA_R64_M, FULL[number], _label_operand(after)))
    if rng.random() < 0.5:
        builder.add(Instruction.create_reg(Code.JMP_RM64, FULL[number]))
    else:
        at = builder.address(8)
        builder.add(Instruction.create_mem_reg(Code.MOV_RM64_R64, _at(at), FULL[number]))
        builder.add(Instruction.create_mem(Code.JMP_RM64, _at(at)))
    builder.add(Instruction.create(Code.UD2))
    builder.place(after)


def _branch_on_counter(builder: Builder, code: int) -> None:
    """Skip an instruction, again and again, if rcx or ecx says so."""
    rng = builder.rng
    if code in LOOPS and builder.undefined & _ZERO_FLAG:
        raise CannotMakeError
    number = rng.choice([n for n in range(16) if n not in (RCX, RSP) and n not in builder.fixed])
    builder.load(number, 0)
    for bit, count in enumerate(_COUNTS):
        after = builder.label()
        builder.load(RCX, count)
        builder.add(Instruction.create_branch(code, after))
        operand = MemoryOperand(FULL[number], displ=1 << bit, displ_size=8)
        builder.add(Instruction.create_reg_mem(Code.LEA_R64_M, FULL[number], operand))
        builder.place(after)
    for written in (RCX, number):
        builder.known.pop(written, None)


def _label_operand(label: int) -> MemoryOperand:
    return MemoryOperand(Register.RIP, displ=label, displ_size=8)


def _step_pointer(builder: Builder) -> None:
    """Change an address by a known amount, as loops and prologues do."""
    rng = builder.rng
    pointers = [n for n in builder.pointers() if n not in builder.fixed]
    if not pointers:
        raise CannotMakeError
    number = rng.choice(pointers)
    value = builder.known[number]
    by = rng.choice((8, 16, 64, -8, PAGE, 3, rng.randrange(-2000, 2000)))
    kind = rng.randrange(5)
    other = rng.choice([n for n in range(16) if n != RSP and n not in builder.fixed])
    if kind == 0:
        builder.append(Instruction.create_reg_i32(Code.ADD_RM64_IMM32, FULL[number], by))
        builder.known[number] = value + by
    elif kind == 1:
        builder.append(Instruction.create_reg_i32(Code.SUB_RM64_IMM32, FULL[number], by))
        builder.known[number] = value - by
    elif kind == 2:
        operand = MemoryOperand(FULL[number], displ=by, displ_size=8)
        builder.append(Instruction.create_reg_mem(Code.LEA_R64_M, FULL[other], operand))
        builder.known[other] = value + by
    elif kind == 3:
        builder.append(Instruction.create_reg_reg(Code.MOV_R64_RM64, FULL[other], FULL[number]))
        builder.known[other] = value
    else:
        builder.append(Instruction.create_reg(Code.INC_RM64, FULL[number]))
        builder.known[number] = value + 1


def _translate(builder: Builder) -> None:
    builder.load(RBX, builder.address(256))
    instruction = Instruction()
    instruction.code = Code.XLAT_M8
    instruction.set_op_kind(0, OpKind.MEMORY)
    instruction.memory_base = Register.RBX
    instruction.memory_index = Register.AL
    builder.append(instruction)


def _masked_bytes(builder: Builder, code: int) -> None:
    rng = builder.rng
    builder.load(RDI, builder.address(16))
    a, b = rng.randrange(8), rng.randrange(8)
    if code == Code.MASKMOVQ_RDI_MM_MM:
        created = Instruction.create_maskmovq(64, REGISTERS[f"MM{a}"], REGISTERS[f"MM{b}"])
    elif code == Code.MASKMOVDQU_RDI_XMM_XMM:
        created = Instruction.create_maskmovdqu(64, REGISTERS[f"XMM{a}"], REGISTERS[f"XMM{b}"])
    else:
        created = Instruction.create_vmaskmovdqu(64, REGISTERS[f"XMM{a}"], REGISTERS[f"XMM{b}"])
    builder.append(created)


def _divide(builder: Builder, code: int, width: str) -> None:
    rng = builder.rng
    divisor = rng.choice([n for n in range(16) if n not in (RAX, RDX, RSP)])
    builder.load(divisor, rng.randrange(3, 120))
    builder.load(RAX, rng.randrange(120))
    builder.load(RDX, 0)
    builder.append(Instruction.create_reg(code, sized(width, divisor)))


def _forget_last(builder: Builder, at: int, store: int) -> None:
    """Clear the stored data about the last x87 instruction.

    Its address may be that of a recorder's copy. Its opcode and its operand's address are lost on
    some processors when the kernel switches threads, with a recorder or without.
    """
    if store in _ENVIRONMENTS:
        pointers = (12, 20)  # the opcode lies behind the first
    else:
        pointers = (8, 16)
        builder.append(Instruction.create_mem_i32(Code.MOV_RM16_IMM16, _at(at + 6), 0))
    for pointer in pointers:
        builder.append(Instruction.create_mem_i32(Code.MOV_RM64_IMM32, _at(at + pointer), 0))


def _save_and_restore(builder: Builder, save: int, restore: int) -> None:
    """xsave, and its restore: the header must be one that it accepts."""
    rng = builder.rng
    mask = rng.choice((_COMPONENTS, 3, 7, rng.getrandbits(8) & _COMPONENTS))
    at = builder.address(_XSAVE_BYTES, 64)
    if save in {Code.XSAVEOPT_MEM, Code.XSAVEOPT64_MEM} and at in builder.restored:
        # It may leave out components that have not changed since then, although the area was
        # cleared. It writes them if the kernel has switched threads in between.
        raise CannotMakeError
    for offset in range(512, 576, 8):
        builder.append(Instruction.create_mem_i32(Code.MOV_RM64_IMM32, _at(at + offset), 0))
    builder.load(RAX, mask)
    builder.load(RDX, 0)
    builder.append(Instruction.create_mem(save, _at(at)))
    _forget_last(builder, at, save)
    if rng.random() < 0.5:
        builder.append(Instruction.create_mem(restore, _at(at)))
        builder.restored.add(at)
    _forget_components(builder, at, everything=save not in {Code.XSAVE_MEM, Code.XSAVE64_MEM})


def _forget_components(builder: Builder, at: int, *, everything: bool) -> None:
    """Clear the bits that say which components are in their initial state, or `everything` saved.

    The processor may track this or not. The kernel's own saving changes it, too: a component that
    holds its initial values may be saved, or left out.
    """
    _direction(builder, backward=False)
    builder.load(RDI, at if everything else at + 512)
    builder.load(RCX, _XSAVE_BYTES // 8 if everything else 1)
    builder.load(RAX, 0)
    builder.append(Instruction.create_stosq(64, RepPrefixKind.REPE))


def _store_and_load(builder: Builder, store: int, load: int, size: int, align: int) -> None:
    at = builder.address(size, align)
    builder.append(Instruction.create_mem(store, _at(at)))
    _forget_last(builder, at, store)
    if builder.rng.random() < 0.6:
        builder.append(Instruction.create_mem(load, _at(at)))


def _control(builder: Builder, load: int, *, sse: bool) -> None:
    rng = builder.rng
    at = builder.address(4)
    if sse:
        value = 0x1F80 | rng.getrandbits(16) & 0xE07F
        builder.append(Instruction.create_mem_u32(Code.MOV_RM32_IMM32, _at(at), value))
    else:
        value = 0x37F & ~0x300 | rng.choice((0, 0x200, 0x300)) | rng.getrandbits(2) << 10
        builder.append(Instruction.create_mem_u32(Code.MOV_RM16_IMM16, _at(at), value))
    builder.append(Instruction.create_mem(load, _at(at)))


def _move_line(builder: Builder) -> None:
    to = builder.address(64, 64)
    builder.load(RDI, to)
    operand = _at(builder.address(64))
    builder.append(Instruction.create_reg_mem(Code.MOVDIR64B_R64_M512, FULL[RDI], operand))


def _sahf(builder: Builder) -> None:
    builder.append(Instruction.create(Code.SAHF))


TEMPLATES: Final[tuple[tuple[int, Template], ...]] = (
    *(
        (2, Template(partial(_string, name=name, width=width)))
        for name in ("movs", "stos", "lods", "cmps", "scas")
        for width in (1, 2, 4, 8)
    ),
    (20, Template(_push_or_pop)),
    (4, Template(_set_flags)),
    (4, Template(_enter_and_leave)),
    (8, Template(_call)),
    (25, Template(_step_pointer)),
    (2, Template(_sahf)),
    (2, Template(_translate)),
    *(
        (2, Template(partial(_masked_bytes, code=code)))
        for code in (Code.MASKMOVQ_RDI_MM_MM, Code.MASKMOVDQU_RDI_XMM_XMM,
                     Code.VEX_VMASKMOVDQU_RDI_XMM_XMM)
    ),
    *(
        (1, Template(partial(_divide, code=code, width=width)))
        for code, width in ((Code.DIV_RM8, "R8"), (Code.DIV_RM32, "R32"), (Code.DIV_RM64, "R64"),
                            (Code.IDIV_RM16, "R16"), (Code.IDIV_RM64, "R64"))
    ),
    *(
        (2, Template(partial(_save_and_restore, save=save, restore=restore)))
        for save, restore in ((Code.XSAVE_MEM, Code.XRSTOR_MEM),
                              (Code.XSAVE64_MEM, Code.XRSTOR64_MEM),
                              (Code.XSAVEC_MEM, Code.XRSTOR_MEM),
                              (Code.XSAVEC64_MEM, Code.XRSTOR64_MEM),
                              (Code.XSAVEOPT_MEM, Code.XRSTOR_MEM),
                              (Code.XSAVEOPT64_MEM, Code.XRSTOR64_MEM))
    ),
    *(
        (2, Template(partial(_store_and_load, store=store, load=load, size=size, align=align)))
        for store, load, size, align in (
            (Code.FXSAVE_M512BYTE, Code.FXRSTOR_M512BYTE, 512, 16),
            (Code.FXSAVE64_M512BYTE, Code.FXRSTOR64_M512BYTE, 512, 16),
            (Code.FNSAVE_M108BYTE, Code.FRSTOR_M108BYTE, 108, 1),
            (Code.FNSTENV_M28BYTE, Code.FLDENV_M28BYTE, 28, 1),
        )
    ),
    (2, Template(partial(_control, load=Code.LDMXCSR_M32, sse=True))),
    (1, Template(partial(_control, load=Code.VEX_VLDMXCSR_M32, sse=True))),
    (1, Template(partial(_control, load=Code.FLDCW_M2BYTE, sse=False))),
    (2, Template(_move_line)),
    (3, Template(_jump)),
    *((1, Template(partial(_branch_on_counter, code=code))) for code in COUNTER_BRANCHES),
    (3, Template(read_selector)),
    (1, Template(read_limit)),
    (3, Template(set_base_of_gs)),
    (2, Template(set_base_of_fs)),
)  # fmt: skip
