# SPDX-License-Identifier: Apache-2.0
"""Runs Numascape while a filter forbids a system call, as the profiles of containers do."""

from __future__ import annotations

import subprocess
import sys

# Of x86-64.
SCHED_SETAFFINITY, MOVE_PAGES, PERF_EVENT_OPEN, PROCESS_VM_READV = 203, 279, 298, 310
# seccomp(2): the call of this number fails with EPERM, as with Docker's profile.
_FORBID = """
import ctypes, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
steps = struct.pack('HBBI' * 4, 0x20, 0, 0, 0, 0x15, 0, 1, int(sys.argv[1]), 6, 0, 0, 0x00050001,
                    6, 0, 0, 0x7fff0000)
code = ctypes.create_string_buffer(steps)
program = struct.pack('HxxxxxxP', 4, ctypes.addressof(code))
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, program) == 0
from numascape.cli.entry import run
sys.exit(run(sys.argv[2:]))
"""


def run_without(call: int, *words: str) -> subprocess.CompletedProcess[str]:
    """The command `numascape` with these words, while the call of this number is forbidden."""
    command = [sys.executable, "-c", _FORBID, str(call), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)
