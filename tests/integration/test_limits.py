# SPDX-License-Identifier: Apache-2.0
"""A recorded program gets the same break, limits and descriptors as it does alone."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

# The native output of each mode; None if it depends on the machine.
FACTS = {
    "break": "exact: 1\ngrown: 4096 MiB\nback: 1\nfresh: 1\n",
    "valgrind": "valgrind: 0\n",
    "descriptors": None,
    "environment": "variables: 0\nin /proc: 0\nauxiliary: 4096 /limits\n0\nof a child: 1\n",
    "filter": "set: 0\nsum: 8192\nrefused: -1 EXDEV\n",
    "strict": "exited: 1 11\n",
    "userfault": None,
    "file size": "child: 5\nwritten: 4096 -1 EFBIG\nsignals: 1\n",
    "closed output": "ended: 1 0\n",
}


@pytest.mark.parametrize("mode", FACTS)
def test_program_finds_what_it_has_by_itself(record: Any, programs: Path, mode: str) -> None:
    native = subprocess.run(
        [programs / "limits", mode], capture_output=True, text=True, timeout=300, check=True
    )
    assert FACTS[mode] in (None, native.stdout)
    recording = record("limits", mode)
    assert (recording.output, recording.status) == (native.stdout, 0)
