# SPDX-License-Identifier: Apache-2.0
"""Commands that compute use freed memory again, instead of pages that the kernel must clear."""

from __future__ import annotations

import subprocess
import sys

import pytest

MIB = 1 << 20
PAGE = 4096
# With huge pages, there are too few faults to compare: 41 is PR_SET_THP_DISABLE.
PROGRAM = f"""
import ctypes, resource, sys
ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)
from numascape.cli.kept_memory import keep_freed_memory
if sys.argv[1] == "keep":
    keep_freed_memory()
for turn in range(3):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    data = bytearray(64 * {MIB})
    data[::{PAGE}] = bytes(len(data[::{PAGE}]))
    del data
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.program
@pytest.mark.parametrize("kept", [True, False])
def test_large_memory_is_touched_first_only_once(kept: bool) -> None:
    words = [sys.executable, "-c", PROGRAM, "keep" if kept else "leave"]
    printed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    first, *again = map(int, printed.split())
    pages = 64 * MIB // PAGE
    assert first >= pages
    assert all(faults < pages / 8 if kept else faults >= pages for faults in again), printed
