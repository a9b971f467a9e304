# SPDX-License-Identifier: Apache-2.0
"""The system that a program ran on, as the kernel describes it."""

from __future__ import annotations

import platform
from pathlib import Path

from numascape.machine.description import Machine
from numascape.machine.kernel_files import huge_page_mode, memory_bytes
from numascape.machine.sources import read_root
from numascape.trace.info import Host


def this_host(root: Path, system: platform.uname_result, machine: Machine | None = None) -> Host:
    """The host whose files are below `root`; `system` is its platform.uname().

    `machine` is its machine, if the caller has already read it.
    """
    machine = machine or read_root(root, str(root))
    return Host(
        name=system.node,
        kernel=f"{system.system} {system.release}",
        cpus=len(machine.cpus),
        nodes=len(machine.nodes),
        memory_bytes=memory_bytes(root / "proc/meminfo"),
        huge_pages=huge_page_mode(root),
    )
