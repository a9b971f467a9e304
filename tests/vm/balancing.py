# SPDX-License-Identifier: Apache-2.0
"""In a guest: the kernel's NUMA balancing, with scans that follow each other fast."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SWITCH = Path("/proc/sys/kernel/numa_balancing")
DEBUG = Path("/sys/kernel/debug")
# A second has many scans. The size bounds their rate from above.
PERIODS = {
    "scan_size_mb": 16,
    "scan_delay_ms": 10,
    "scan_period_min_ms": 20,
    "scan_period_max_ms": 20,
}


@contextmanager
def often_balanced() -> Iterator[None]:
    """The balancing is on in the block, and off after it."""
    if not (DEBUG / "sched").exists():
        subprocess.run(["mount", "-t", "debugfs", "debugfs", DEBUG], check=True)
    for name, value in PERIODS.items():
        (DEBUG / "sched/numa_balancing" / name).write_text(str(value))
    SWITCH.write_text("1")
    try:
        yield
    finally:
        SWITCH.write_text("0")
