# SPDX-License-Identifier: Apache-2.0
"""The addresses of blocks and their memory, and the files that the runner and stepper share.

The structures are those of `programs/runner.h`.
"""

from typing import Final

import numpy as np

PAGE: Final = 4096
ARENA_PAGES: Final = 6
ARENA_BYTES: Final = ARENA_PAGES * PAGE
DATA_PAGES: Final = 3  # the first ones
GUARD_PAGE: Final = 3  # may be protected
STACK_PAGE: Final = 4  # this and the next

CODE_START: Final = 0x08000000
FIRST_BLOCK: Final = CODE_START + 16
LOGGED_START: Final = 0x0A000000  # the same code, with traps at its accesses
LOGGED_BYTES: Final = 4  # this number for each byte of the code is enough
ARENA_START: Final = 0x10000000
MAX_BLOCKS: Final = 16384  # of a program
BLOCK_BYTES: Final = 256  # of code; this number for each block is enough

VECTORS: Final = np.dtype(
    [
        ("k", "<u8", 8),
        ("st", "u1", (8, 16)),
        ("mxcsr", "<u4"),
        ("control", "<u2"),
        ("status", "<u2"),
        ("tags", "<u2"),
        ("unused", "<u2", 3),
        ("zmm", "u1", (32, 64)),
    ],
    align=True,
)
REGISTERS: Final = np.dtype([("gpr", "<u8", 16), ("flags", "<u8"), ("rip", "<u8")])
STATE: Final = np.dtype([("registers", REGISTERS), ("guard", "<u8"), ("vectors", VECTORS)])
FAULT: Final = np.dtype(
    [
        ("signal", "<i8"),
        ("code", "<i8"),
        ("trap", "<i8"),
        ("error", "<i8"),
        ("address", "<u8"),
        ("registers", REGISTERS),
        ("vectors", VECTORS),
    ]
)
RESULT: Final = np.dtype(
    [
        ("faults", "<u8"),
        ("fault", FAULT, 2),
        ("registers", REGISTERS),
        ("vectors", VECTORS),
        ("memory", "u1", ARENA_BYTES),
    ]
)
LOGGED: Final = np.dtype([("registers", REGISTERS), ("gs_base", "<u8"), ("vectors", "<i8")])
STEP: Final = np.dtype(
    [
        ("registers", REGISTERS),
        ("gs_base", "<u8"),
        ("vectors", "<i8"),
        ("faulted", "<i8"),
        ("unfinished", "<i8"),
    ]
)

NO_GUARD, GUARD_AND_LEAVE, GUARD_AND_RETRY = range(3)
GENERAL: Final = (
    "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
    "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
)  # fmt: skip


def arena_of(block: int) -> int:
    """Address of the memory of a program's block of this number."""
    return ARENA_START + block * ARENA_BYTES


def logged_start(start: int) -> int:
    """Address of the code with traps of the block that is at `start`."""
    return LOGGED_START + LOGGED_BYTES * (start - CODE_START)
