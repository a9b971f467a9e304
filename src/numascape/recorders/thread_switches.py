# SPDX-License-Identifier: Apache-2.0
"""Finds how often the threads of a process get a CPU: this decides the cost of observing them.

At each switch from or to a thread that is observed, the kernel exchanges the events. This takes
about 1 us (bench/running), whatever is observed.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

_MANY: Final = 10_000
"""Switches in a second of CPU time. Events of threads then cost about 1 % of this time."""
_SCHEDULED: Final = re.compile(r"(\d+) \d+ (\d+)\n?")


def switches_often(pid: int, root: Path = Path("/")) -> bool:
    """Whether events of its threads would cost a process much.

    The switches since its start decide. False if the kernel does not report them.
    """
    cpu_ns = switches = 0
    for file in (root / f"proc/{pid}/task").glob("*/schedstat"):
        try:
            found = _SCHEDULED.fullmatch(file.read_text())
        except OSError:  # it has ended
            continue
        if found is not None:
            cpu_ns, switches = cpu_ns + int(found[1]), switches + int(found[2])
    return switches > _MANY * cpu_ns / 1e9
