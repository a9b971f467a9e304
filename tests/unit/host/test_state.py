# SPDX-License-Identifier: Apache-2.0
"""A host's memory is read from the kernel's files, even if some of them are missing."""

from __future__ import annotations

import mmap
import shutil
from pathlib import Path

import pytest

from numascape import NumascapeError
from numascape.host.rates import counter_rows
from numascape.host.state import HostState, read_state
from numascape.host.state_document import host_prometheus, state_document
from unit.host.conftest import GIB, MIB, AddNode


def test_each_node_has_what_fills_it(two_nodes: Path) -> None:
    state = read_state(two_nodes)
    node = state.node(0)
    assert (node.total, node.free) == (8 * GIB, GIB)
    # FilePages includes tmpfs, which is not page cache.
    assert (node.cache, node.shared) == (4 * GIB, GIB)
    assert node.clean == (4096 - 512 - 256) * MIB
    assert node.reclaimable == node.clean + 128 * MIB
    assert node.other == (8192 - 1024 - 5120 - 1536 - 256) * MIB
    assert state.node(1).cache == 0


def test_usable_is_above_the_low_watermark_and_the_reserve(two_nodes: Path) -> None:
    node = read_state(two_nodes).node(0)
    assert node.watermarks is not None
    assert node.watermarks.low == 256 * mmap.PAGESIZE
    assert node.watermarks.reserved == MIB
    assert node.usable == GIB - 256 * mmap.PAGESIZE - MIB


def test_huge_pages_of_all_sizes_count(two_nodes: Path) -> None:
    for size, count, free in ((2048, 10, 4), (1048576, 1, 1)):
        folder = two_nodes / f"sys/devices/system/node/node1/hugepages/hugepages-{size}kB"
        folder.mkdir(parents=True)
        (folder / "nr_hugepages").write_text(f"{count}\n")
        (folder / "free_hugepages").write_text(f"{free}\n")
    node = read_state(two_nodes).node(1)
    assert node.huge == GIB + 10 * 2 * MIB
    assert node.huge_free == GIB + 4 * 2 * MIB


def test_nodes_take_from_their_nearest(tmp_path: Path, add_node: AddNode) -> None:
    add_node(0, "10 30 20 20")
    add_node(1, "30 10 20 20")
    add_node(2, "20 20 10 30")
    add_node(3, "20 20 30 10")
    orders = [node.fallback for node in read_state(tmp_path).nodes]
    assert orders[0] == (0, 2, 3, 1)
    # Among equally distant nodes, the kernel first takes those with larger numbers than its own.
    assert orders[2][:2] == (2, 0)


def test_settings_and_limits_are_read(two_nodes: Path) -> None:
    files = {
        "proc/sys/kernel/numa_balancing": "2\n",
        "proc/sys/vm/zone_reclaim_mode": "1\n",
        "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
        "proc/self/status": "Name:\tx\nMems_allowed_list:\t0-1\nCpus_allowed_list:\t3\n",
        "proc/self/cgroup": "0::/job/step\n",
        "sys/fs/cgroup/cgroup.controllers": "memory\n",
        "sys/fs/cgroup/job/memory.max": f"{2 * GIB}\n",
        "sys/fs/cgroup/job/memory.current": f"{GIB}\n",
        "sys/fs/cgroup/job/memory.stat": f"active_file {MIB}\ninactive_file {3 * MIB}\n",
        "sys/fs/cgroup/job/step/memory.max": "max\n",
    }
    write(two_nodes, files)
    state = read_state(two_nodes)
    assert state.settings.numa_balancing == 2
    assert state.settings.zone_reclaim_mode == 1
    assert state.settings.huge_pages == "madvise"
    assert (state.limits.nodes, state.limits.cpus) == ((0, 1), (3,))
    group = state.limits.group
    assert group is not None
    assert group.group == "/sys/fs/cgroup/job"
    assert group.left == GIB + 4 * MIB


def test_limits_of_version_1_are_read(two_nodes: Path) -> None:
    folder = "sys/fs/cgroup/memory/job"
    write(
        two_nodes,
        {
            "proc/self/cgroup": "4:memory:/job\n3:cpuset:/\n0::/\n",
            f"{folder}/memory.limit_in_bytes": f"{GIB}\n",
            f"{folder}/memory.usage_in_bytes": f"{MIB}\n",
            f"{folder}/memory.stat": f"total_active_file {MIB}\ntotal_inactive_file 0\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        },
    )
    group = read_state(two_nodes).limits.group
    assert group is not None
    assert (group.group, group.left) == (f"/{folder}", GIB)


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def test_without_nodes_there_is_one(two_nodes: Path) -> None:
    shutil.rmtree(two_nodes / "sys")
    (two_nodes / "proc/zoneinfo").unlink()
    meminfo = "MemTotal: 1024 kB\nMemFree: 512 kB\nCached: 256 kB\nBuffers: 64 kB\n"
    (two_nodes / "proc/meminfo").write_text(meminfo + "HugePages_Total: 1\nHugepagesize: 64 kB\n")
    state = read_state(two_nodes)
    (node,) = state.nodes
    assert (node.total, node.cache, node.huge) == (1 << 20, 320 << 10, 64 << 10)
    assert node.usable == node.free == 512 << 10
    assert len(state.notes) == 2


def test_without_anything_it_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(NumascapeError, match="has no information about memory"):
        read_state(tmp_path)


def test_counters_become_rates(two_nodes: Path) -> None:
    first = read_state(two_nodes)
    path = two_nodes / "sys/devices/system/node/node0/numastat"
    path.write_text(path.read_text().replace("numa_miss 20", "numa_miss 70"))
    later = read_state(two_nodes)
    later = HostState(first.time_s + 2, *list(vars(later).values())[1:])
    assert dict(counter_rows(later, first))["miss"] == [25, 0]
    assert dict(counter_rows(later, None))["miss"] == [70, 20]


def test_programs_read_the_same(two_nodes: Path) -> None:
    state = read_state(two_nodes)
    nodes = state_document(state)["nodes"]
    assert nodes[0]["bytes"]["clean"] == state.node(0).clean
    assert nodes[1]["counters"]["miss"] == 20
    lines = host_prometheus(state).splitlines()
    assert f'numascape_node_shared_bytes{{node="0"}} {GIB}' in lines
    assert 'numascape_node_numa_miss_pages_total{node="1"} 20' in lines
    named = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    assert {line.split("{")[0].split()[0] for line in lines if line[0] != "#"} == named
