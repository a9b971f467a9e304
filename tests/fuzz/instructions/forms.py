# SPDX-License-Identifier: Apache-2.0
"""The forms of instructions for blocks: all forms that a user's program may execute.

A form is an opcode with its kinds of operands, with the numbers of iced-x86 (`Code`). Which forms
this CPU has is found by executing them: see `probing.py`.
"""

from dataclasses import dataclass
from functools import cache
from typing import Final

from iced_x86 import (
    Code,
    EncodingKind,
    FlowControl,
    Instruction,
    MemorySizeInfo,
    Mnemonic,
    OpCodeInfo,
    OpCodeOperandKind,
    Register,
)

MNEMONICS: Final = {
    getattr(Mnemonic, name): name for name in dir(Mnemonic) if not name.startswith("_")
}
OPERAND_KINDS: Final = {
    getattr(OpCodeOperandKind, name): name
    for name in dir(OpCodeOperandKind)
    if not name.startswith("_")
}
REGISTERS: Final[dict[str, int]] = {
    name: register
    for name in dir(Register)
    if not name.startswith("_") and isinstance(register := getattr(Register, name), int)
}


def words(text: str) -> frozenset[str]:
    """Return the words of a text, as a list that is easy to read."""
    return frozenset(text.split())


# Results that change: time, random numbers, the number of the CPU, and values of the kernel.
_CHANGING = "RDTSC RDTSCP RDRAND RDSEED CPUID RDPID RDPMC RDPRU SGDT SIDT SLDT STR SMSW XGETBV"
# Instructions that would end, stop or redirect the program or its thread.
_LEAVING = """SYSCALL SYSENTER SYSRET SYSEXIT SYSRETQ SYSEXITQ INT INT1 INT3 INTO HLT IRET IRETD
IRETQ UD0 UD1 UD2 UMWAIT TPAUSE MWAIT MWAITX MONITOR MONITORX XBEGIN XEND XABORT ENCLU ENCLS ENCLV
GETSEC VMCALL VMMCALL VMFUNC VMGEXIT PVALIDATE SENDUIPI CLUI STUI TESTUI UIRET WRPKRU ENQCMD ENQCMDS
GETSECQ UNDOC RDUDBG WRUDBG UMONITOR ENDBR32 TDCALL SEAMCALL SEAMOPS SEAMRET SKINIT STGI CLGI"""
# Segment registers, whose bases are the C library's.
_SEGMENTS = "WRFSBASE WRGSBASE RDFSBASE RDGSBASE LFS LGS LSS"
# They are nops with an operand, without accesses, on CPUs that do not have them.
_NOPS = "BNDMOV BNDMK BNDCL BNDCU BNDCN BNDLDX BNDSTX PTWRITE RDSSPD RDSSPQ INCSSPD INCSSPQ"
# Padlock's and other instructions that need more than operands; strings have their own templates.
_OWN = """XSTORE XCRYPTECB XCRYPTCBC XCRYPTCTR XCRYPTCFB XCRYPTOFB MONTMUL XSHA1 XSHA256 XSHA512
XSTORE_ALT XSHA512_ALT CCS_HASH CCS_ENCRYPT LOADIWKEY INSB INSW INSD OUTSB OUTSW OUTSD"""
# Made by templates (templates.py), because they need values in certain registers or in memory.
_TEMPLATES = """MOVSB MOVSW MOVSD STOSB STOSW STOSD STOSQ LODSB LODSW LODSD LODSQ SCASB SCASW SCASD
SCASQ CMPSB CMPSW CMPSD CMPSQ MOVSQ XLATB MASKMOVQ MASKMOVDQU VMASKMOVDQU ENTER LEAVE PUSH POP PUSHF
PUSHFQ POPF POPFQ DIV IDIV XSAVE XSAVE64 XSAVEC XSAVEC64 XSAVEOPT XSAVEOPT64 XRSTOR XRSTOR64 FXSAVE
FXSAVE64 FXRSTOR FXRSTOR64 FNSAVE FRSTOR FNSTENV FLDENV FLDCW LDMXCSR VLDMXCSR MOVDIR64B BT
BTS BTR BTC LSL STD CLD SAHF STI CLI STAC CLAC XSAVES XSAVES64 XRSTORS XRSTORS64 RDPKRU"""
# An instruction of AMD. DynamoRIO cannot decode it: the recorder says so, and SIGILL follows.
_UNDECODED = "CLZERO"
_LEFT_OUT: Final = frozenset(
    " ".join((_CHANGING, _LEAVING, _SEGMENTS, _NOPS, _OWN, _TEMPLATES, _UNDECODED)).split()
) - {"MOVSD", "CMPSD"}
_BIT_TESTS: Final = frozenset({"BT", "BTS", "BTR", "BTC"})
_KINDS_LEFT_OUT: Final = frozenset(
    {"SIBMEM", "MEM_MIB", "MEM_MPX", "SEG_REG", "CR_REG", "DR_REG", "TR_REG", "BND_REG"}
)


@dataclass(frozen=True)
class Form:
    code: int
    name: str  # of the mnemonic
    info: OpCodeInfo
    kinds: tuple[str, ...]  # of the operands
    bytes: int  # of the memory operand
    broadcast_bytes: int  # of one element

    @property
    def touches_memory(self) -> bool:
        return any("MEM" in kind for kind in self.kinds)

    @property
    def family(self) -> str:
        encoding = {EncodingKind.VEX: "vex", EncodingKind.EVEX: "evex"}.get(self.info.encoding)
        if encoding is not None:
            return encoding
        if any(kind.startswith(("XMM", "MM_")) for kind in self.kinds):
            return "sse"
        return "x87" if self.name.startswith("F") else "general"


def _is_candidate(code: int, info: OpCodeInfo, names: tuple[str, ...]) -> bool:
    instruction = Instruction()
    instruction.code = code
    mnemonic = MNEMONICS[info.mnemonic]
    implicit_string = any(kind in {"ES_RDI", "SEG_RSI", "SEG_RDI", "SEG_RBX_AL"} for kind in names)
    return (
        info.is_instruction
        and info.mode64
        and info.encoding != EncodingKind.MVEX
        and not (info.must_be_cpl0 or info.is_input_output or info.fwait)
        and instruction.flow_control == FlowControl.NEXT
        and (mnemonic not in _LEFT_OUT or mnemonic in _BIT_TESTS)
        and not implicit_string
        and not _KINDS_LEFT_OUT.intersection(names)
        and not any(
            kind.startswith(("BR", "FAR_BR", "TMM", "ZMMP", "XMMP", "KP1")) for kind in names
        )
        and not info.is_reserved_nop
    )


@cache
def all_forms() -> tuple[Form, ...]:
    """All forms that blocks may have, on any CPU."""
    forms = []
    for name in dir(Code):
        code = getattr(Code, name)
        if name.startswith("_") or not isinstance(code, int) or name == "INVALID":
            continue
        info = OpCodeInfo(code)
        kinds = tuple(OPERAND_KINDS[kind] for kind in info.op_kinds())
        if _is_candidate(code, info, kinds):
            size = MemorySizeInfo(info.memory_size).size
            element = MemorySizeInfo(info.broadcast_memory_size).size if info.can_broadcast else 0
            mnemonic = MNEMONICS[info.mnemonic]
            forms.append(Form(code, mnemonic, info, kinds, size, element))
    return tuple(forms)
