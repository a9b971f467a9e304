# SPDX-License-Identifier: Apache-2.0
"""The host that a trace names is the one whose files were read."""

from __future__ import annotations

import platform
from dataclasses import replace
from pathlib import Path

import pytest

from numascape.machine import Machine, MachineNode
from numascape.trace.host import this_host
from numascape.trace.info import Host

HUGE_PAGES = "sys/kernel/mm/transparent_hugepage"


@pytest.mark.parametrize(
    ("general", "of_2_mib", "mode"),
    [
        ("always [madvise] never", None, "madvise"),
        ("[always] madvise never", "always [inherit] madvise never", "always"),
        ("[always] madvise never", "always inherit madvise [never]", "never"),
        ("always madvise never", None, ""),
        ("always [sometimes] never", None, ""),
        (None, None, ""),
    ],
)
def test_the_setting_of_huge_pages(
    general: str | None, of_2_mib: str | None, mode: str, tmp_path: Path
) -> None:
    (tmp_path / HUGE_PAGES / "hugepages-2048kB").mkdir(parents=True)
    for name, text in (("enabled", general), ("hugepages-2048kB/enabled", of_2_mib)):
        if text is not None:
            (tmp_path / HUGE_PAGES / name).write_text(f"{text}\n")
    host = this_host(tmp_path, platform.uname(), Machine("one", (MachineNode(0, (0,), 1),)))
    assert host.huge_pages == mode


def test_a_host_with_another_setting_is_the_same_host() -> None:
    host = Host("a", "Linux 6.1", 2, 1, 4096, "always")
    assert host == replace(host, huge_pages="never")


def test_the_host_counts_what_its_machine_has(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal:       4096 kB\nMemFree:  1 kB\n")
    nodes = (MachineNode(0, (0, 1), 1), MachineNode(2, (2, 3), 1), MachineNode(4, (), 1))
    system = platform.uname()
    assert this_host(tmp_path, system, Machine("Opteron", nodes)) == Host(
        system.node, f"{system.system} {system.release}", 4, 3, 4096 * 1024
    )
