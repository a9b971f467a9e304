# SPDX-License-Identifier: Apache-2.0
"""Instructions with segment registers: selectors, limits, and the bases of fs and gs."""

from typing import Final

from iced_x86 import Code, Instruction, MemoryOperand, Register

from fuzz.instructions.builder import FULL, Builder, CannotMakeError, sized

_SELECTORS: Final = (Register.ES, Register.CS, Register.SS, Register.DS, Register.FS, Register.GS)
# Selectors of Linux's segments of code and data, of no segment, and of the kernel. The limit of
# another segment (0x7b) is the number of the CPU.
_VALUES: Final = (0x33, 0x2B, 0x23, 0, 3, 0x10, 0xFFF8)
_REACHED: Final = 64  # bytes from a base


def _free(builder: Builder) -> int:
    """Choose a register that may be written."""
    numbers = [n for n in range(16) if n != 4 and n not in builder.fixed]
    return builder.rng.choice(numbers)


def _operand(address: int, segment: int = Register.NONE) -> MemoryOperand:
    return MemoryOperand(displ=address, displ_size=4, seg=segment)


def read_selector(builder: Builder) -> None:
    """Store a selector in a register or in memory, or push it."""
    rng = builder.rng
    segment = rng.choice(_SELECTORS)
    kind = rng.randrange(4)
    if kind == 0:
        operand = _operand(builder.address(2))
        builder.append(Instruction.create_mem_reg(Code.MOV_RM16_SREG, operand, segment))
    elif kind == 1:
        code, segment = rng.choice(
            ((Code.PUSHQ_FS, Register.FS), (Code.PUSHQ_GS, Register.GS))
        )  # fmt: skip
        builder.append(Instruction.create_reg(code, segment))
    else:
        code, width = rng.choice(
            ((Code.MOV_R64M16_SREG, "R64"), (Code.MOV_R32M16_SREG, "R32"),
             (Code.MOV_RM16_SREG, "R16"))
        )  # fmt: skip
        builder.append(Instruction.create_reg_reg(code, sized(width, _free(builder)), segment))


def read_limit(builder: Builder) -> None:
    """Read the limit of a segment whose selector is known."""
    rng = builder.rng
    selector = rng.choice(_VALUES)
    code, width = rng.choice(
        ((Code.LSL_R64_R64M16, "R64"), (Code.LSL_R32_R32M16, "R32"), (Code.LSL_R16_RM16, "R16"))
    )
    to = sized(width, _free(builder))
    if rng.random() < 0.5:
        number = _free(builder)
        builder.load(number, selector)
        builder.append(Instruction.create_reg_reg(code, to, sized(width, number)))
    else:
        operand = _operand(builder.address(2))
        builder.append(Instruction.create_mem_u32(Code.MOV_RM16_IMM16, operand, selector))
        builder.append(Instruction.create_reg_mem(code, to, operand))


def set_base_of_gs(builder: Builder) -> None:
    """Let gs begin in the block's memory, use it, and set its base to 0 again."""
    rng = builder.rng
    write, read, width = rng.choice(
        ((Code.WRGSBASE_R64, Code.RDGSBASE_R64, "R64"),
         (Code.WRGSBASE_R32, Code.RDGSBASE_R32, "R32"))
    )  # fmt: skip
    number, other = _free(builder), _free(builder)
    if number == other:
        raise CannotMakeError
    builder.load(number, builder.address(_REACHED))
    builder.append(Instruction.create_reg(write, sized(width, number)))
    operand = _operand(rng.randrange(_REACHED - 8), Register.GS)
    if rng.random() < 0.5:
        builder.append(Instruction.create_reg_mem(Code.ADD_R64_RM64, FULL[other], operand))
    else:
        builder.append(Instruction.create_mem_reg(Code.MOV_RM64_R64, operand, FULL[other]))
    builder.append(Instruction.create_reg(read, sized(width, other)))
    builder.load(number, 0)
    builder.append(Instruction.create_reg(Code.WRGSBASE_R64, FULL[number]))


def set_base_of_fs(builder: Builder) -> None:
    """Set the base of fs to its present value. The C library stores this value at that address."""
    number = _free(builder)
    builder.append(Instruction.create_reg(Code.RDFSBASE_R64, FULL[number]))
    builder.append(Instruction.create_reg(Code.WRFSBASE_R64, FULL[number]))
    operand = _operand(0, Register.FS)
    builder.append(Instruction.create_reg_mem(Code.SUB_R64_RM64, FULL[number], operand))
