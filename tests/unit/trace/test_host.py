# SPDX-License-Identifier: Apache-2.0
"""The host that a trace names is the one whose files were read."""

from __future__ import annotations

import platform
from pathlib import Path

from numascape.machine import Machine, MachineNode
from numascape.trace.host import this_host
from numascape.trace.info import Host


def test_the_host_counts_what_its_machine_has(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal:       4096 kB\nMemFree:  1 kB\n")
    nodes = (MachineNode(0, (0, 1), 1), MachineNode(2, (2, 3), 1), MachineNode(4, (), 1))
    system = platform.uname()
    assert this_host(tmp_path, system, Machine("Opteron", nodes)) == Host(
        system.node, f"{system.system} {system.release}", 4, 3, 4096 * 1024
    )
