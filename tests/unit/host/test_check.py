# SPDX-License-Identifier: Apache-2.0
"""Allocations are predicted on the nodes that the kernel's allocator would choose."""

from __future__ import annotations

from pathlib import Path

import pytest

from numascape import NumascapeError
from numascape.host.allocation import predict_allocation
from numascape.host.causes import find_causes
from numascape.host.nodes import parse_nodes
from numascape.host.state import read_state
from numascape.quantities import parse_bytes
from unit.host.conftest import GIB, MIB, AddNode
from unit.host.test_state import write


def test_what_is_free_is_local(two_nodes: Path) -> None:
    state = read_state(two_nodes)
    usable = state.node(0).usable
    assert predict_allocation(state, {0: usable, 1: GIB}).local
    (share,) = predict_allocation(state, {0: usable + MIB}).shares
    assert (share.local, share.elsewhere) == (usable, {1: MIB})


def test_a_node_serves_its_own_first(two_nodes: Path) -> None:
    state = read_state(two_nodes)
    zero, one = predict_allocation(state, {0: 7 * GIB, 1: 7 * GIB}).shares
    assert one.local == 7 * GIB
    assert zero.local == state.node(0).usable
    assert zero.elsewhere == {1: state.node(1).usable - 7 * GIB}
    assert zero.reclaimed == state.node(0).reclaimable
    assert zero.local + sum(zero.elsewhere.values()) + zero.reclaimed + zero.missing == 7 * GIB


def test_zone_reclaim_gives_up_cache_first(two_nodes: Path) -> None:
    write(two_nodes, {"proc/sys/vm/zone_reclaim_mode": "1\n"})
    assert predict_allocation(read_state(two_nodes), {0: 4 * GIB}).local


def test_the_only_node_gives_up_its_cache(tmp_path: Path, add_node: AddNode) -> None:
    add_node(0, "10", MemFree=1024, FilePages=4096)
    state = read_state(tmp_path)
    assert predict_allocation(state, {0: 4 * GIB}).local
    assert predict_allocation(state, {0: 6 * GIB}).shares[0].missing > 0


def test_causes_explain_what_spills(two_nodes: Path) -> None:
    state = read_state(two_nodes)

    def causes(size: int, root: bool) -> list[tuple[str, str]]:
        found = find_causes(state, predict_allocation(state, {0: size}), root)
        return [(cause.what, cause.fix) for cause in found]

    assert causes(2 * GIB, False) == [("clean page cache", "numascape host sweep --node 0")]
    assert causes(2 * GIB, True) == [("clean page cache", "numascape host drop --node 0")]
    assert "dirty page cache" in dict(causes(5 * GIB, True))
    shared = "tmpfs and shared memory, which a sweep cannot free"
    assert shared in dict(causes(6 * GIB, False))
    assert causes(GIB // 2, False) == []
    assert causes(9 * GIB, False)[0][0] == "node 0 has 8 GiB of memory in all"


def test_limits_are_causes(two_nodes: Path) -> None:
    write(
        two_nodes,
        {
            "proc/self/status": "Mems_allowed_list:\t1\n",
            "proc/self/cgroup": "0::/job\n",
            "sys/fs/cgroup/cgroup.controllers": "memory\n",
            "sys/fs/cgroup/job/memory.max": f"{GIB}\n",
            "sys/fs/cgroup/job/memory.current": "0\n",
        },
    )
    state = read_state(two_nodes)
    prediction = predict_allocation(state, {0: GIB, 1: GIB})
    assert prediction.over_limit == GIB
    causes = find_causes(state, prediction, False)
    assert [cause.node for cause in causes] == [0, None]
    assert "cpuset" in causes[0].what
    assert "/sys/fs/cgroup/job allows 1 GiB" in causes[1].what


@pytest.mark.parametrize(
    ("text", "size"), [("8G", 8 * GIB), ("1.5MiB", 3 << 19), ("4096", 4096), ("2kb", 2048)]
)
def test_quantities(text: str, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize("text", ["", "G", "-1", "8 X", "1e3", "nan"])
def test_what_is_no_quantity(text: str) -> None:
    with pytest.raises(NumascapeError, match="is not an amount of memory"):
        parse_bytes(text)


def test_nodes_are_known() -> None:
    assert parse_nodes("0,2-3", [0, 1, 2, 3]) == [0, 2, 3]
    for text, reason in (("4", "there is no node 4"), ("x", "not a list"), ("", "empty")):
        with pytest.raises(NumascapeError, match=reason):
            parse_nodes(text, [0, 1, 2, 3])
