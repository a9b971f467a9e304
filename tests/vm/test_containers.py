# SPDX-License-Identifier: Apache-2.0
"""After construction every page of a C++ container is on the node that its layout says.

One program constructs them all in each guest, and asks the guest's kernel page by page.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from integration.conftest import make
from vm.conftest import Boot
from vm.guest import GuestNode

PROGRAMS = Path(__file__).parent / "programs"
OVERFILL_MIB = 192
HUGE_KIB = 2048


@dataclass(frozen=True)
class Machine:
    """A guest; its last node is too small for 192 MiB."""

    nodes: list[GuestNode]

    @property
    def with_cpus(self) -> list[int]:
        return [number for number, node in enumerate(self.nodes) if node.cpus]

    @property
    def small(self) -> int:
        return len(self.nodes) - 1


MACHINES = {
    "two nodes": Machine([GuestNode(2, 640), GuestNode(1, OVERFILL_MIB - 32)]),
    "four nodes, one without CPUs": Machine(
        [GuestNode(1, 512), GuestNode(1, 512), GuestNode(1, 512), GuestNode(0, OVERFILL_MIB - 32)]
    ),
}


@dataclass(frozen=True)
class Run:
    """The output of the program in a guest, by the names of its containers."""

    machine: Machine
    printed: dict[str, dict[str, Any]]


@pytest.fixture(scope="module", params=MACHINES)
def run(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, boot: Boot
) -> Run:
    build = request.config.cache.mkdir("guest-programs")
    make(PROGRAMS, f"BUILD={build}")
    machine = MACHINES[request.param]
    folder = tmp_path_factory.mktemp("guest")
    boot(machine.nodes, f"{build / 'containers'} {machine.small}\n", folder)
    lines = map(json.loads, (folder / "output").read_text().splitlines())
    return Run(machine, {line["name"]: line for line in lines})


def wanted(layout: str, segments: int, nodes: list[int]) -> list[int]:
    """The node of each segment, by the definition of the layout."""
    if layout == "cyclic":
        return [nodes[k % len(nodes)] for k in range(segments)]
    return [nodes[k * len(nodes) // segments] for k in range(segments)]


@pytest.mark.parametrize("page", ["4K", "64K", "2M"])
@pytest.mark.parametrize("layout", ["block", "blocks", "cyclic", "weighted"])
@pytest.mark.parametrize("placing", ["bind", "touch"])
def test_every_page_of_a_segment_is_on_its_node(
    run: Run, layout: str, page: str, placing: str
) -> None:
    nodes = run.machine.with_cpus
    counts = {"block": len(nodes), "blocks": 3 * len(nodes), "cyclic": 10, "weighted": 2}
    printed = run.printed[f"segmented {layout} {page} {placing}"]
    assert (printed["ok"], printed["misplaced"]) == (True, 0)
    segments = printed["segments"]
    assert [s["node"] for s in segments] == wanted(layout, counts[layout], nodes)
    pages = [list(s["pages"]) for s in segments]
    assert pages == [[str(s["node"])] for s in segments]
    assert sum(sum(s["pages"].values()) for s in segments) >= 600_000 * 8 / 4096


@pytest.mark.parametrize("page", ["4K", "64K", "2M"])
@pytest.mark.parametrize("layout", ["block", "blocks", "cyclic", "weighted"])
@pytest.mark.parametrize("placing", ["bind", "touch"])
def test_a_contiguous_vector_is_divided_at_pages(
    run: Run, layout: str, page: str, placing: str
) -> None:
    printed = run.printed[f"contiguous {layout} {page} {placing}"]
    assert (printed["ok"], printed["misplaced"]) == (True, 0)
    segments = [s for s in printed["segments"] if s["pages"]]
    # The last element of a segment may extend into the next segment's first page; here, none does.
    assert [list(s["pages"]) for s in segments] == [[str(s["node"])] for s in segments]
    total = sum(sum(s["pages"].values()) for s in segments)
    assert total == -(-600_000 * 8 // 4096)
    if (layout, page) in {("block", "4K"), ("blocks", "4K")}:
        assert {s["node"] for s in segments} == set(run.machine.with_cpus)


def test_pages_have_the_size_that_was_asked_for(run: Run) -> None:
    for placing in ("bind", "touch"):
        for segment in run.printed[f"segmented blocks 2M {placing}"]["segments"]:
            assert segment["huge_kib"] >= HUGE_KIB
        for segment in run.printed[f"segmented blocks 4K {placing}"]["segments"]:
            assert segment["huge_kib"] == 0


def test_one_thread_places_by_policy_but_not_by_first_touch(run: Run) -> None:
    assert run.printed["segmented block 4K bind serial"]["ok"]
    touched = run.printed["segmented block 4K touch serial"]
    assert not touched["ok"]
    assert touched["misplaced"] > 0
    places = {node for s in touched["segments"] for node in s["pages"]}
    assert len(places) == 1  # the constructing thread's node


def test_segments_are_as_long_as_their_nodes_memory(run: Run) -> None:
    printed = run.printed["by memory"]
    assert (printed["ok"], printed["misplaced"]) == (True, 0)
    pages = [s["pages"] for s in printed["segments"]]
    assert [list(p) for p in pages] == [[str(n)] for n in range(len(run.machine.nodes))]
    # The kernel keeps some memory of each node for itself, of node 0 most.
    sizes = [node.memory_mib for node in run.machine.nodes]
    for node, size in enumerate(sizes[1:], start=1):
        share = pages[node][str(node)] / sum(sum(p.values()) for p in pages)
        assert share == pytest.approx(size / sum(sizes), rel=0.25)


def test_the_parts_of_a_plan_are_on_their_nodes(run: Run) -> None:
    printed = run.printed["by parts"]
    assert printed["ok"]
    one, two = (s["pages"] for s in printed["segments"])
    assert (list(one), list(two)) == (["1"], ["0"])
    assert one["1"] == -(-600_000 * 8 // 4 // 4096)


def test_each_node_has_its_copy(run: Run) -> None:
    nodes = [str(node) for node in run.machine.with_cpus]
    for name in ("replicated array", "replicated object", "per node"):
        parts = run.printed[name]["parts"]
        assert [list(part) for part in parts] == [[node] for node in nodes], name
        assert all(sum(part.values()) >= 117 for part in parts)
    assert run.printed["local"]["parts"] == [{node: 1} for node in nodes]


def test_allocators_take_memory_of_their_nodes(run: Run) -> None:
    every = [str(node) for node in range(len(run.machine.nodes))]
    assert [list(part) for part in run.printed["allocator"]["parts"]] == [[n] for n in every]
    (interleaved,) = run.printed["interleaved"]["parts"]
    assert sorted(interleaved) == every
    assert max(interleaved.values()) - min(interleaved.values()) <= 1


def test_memory_that_is_used_again_stays_on_its_node(run: Run) -> None:
    nodes = range(len(run.machine.nodes))
    for name in ("small", "small after a move"):
        assert run.printed[name]["parts"] == [{str(node): 1} for node in nodes]
    assert run.printed["addresses of small"]["parts"] == [len(nodes)]


def test_every_cpu_works_on_elements_of_its_own_node(run: Run) -> None:
    printed = run.printed["shares"]
    home: dict[int, int] = {}
    for number, node in enumerate(run.machine.nodes):
        home |= dict.fromkeys(range(len(home), len(home) + node.cpus), number)
    assert printed["workers"] == len(home)
    assert len(printed["seen"]) == len(home)  # all of them, with one segment for each node
    assert all(home[cpu] == node for cpu, node in printed["seen"])
    assert not printed["moved"]


def test_a_full_node_spills_or_fails_as_declared(run: Run) -> None:
    spilled = run.printed["spill"]
    small = str(run.machine.small)
    (segment,) = spilled["segments"]
    elsewhere = sum(count for node, count in segment["pages"].items() if node != small)
    assert elsewhere == spilled["misplaced"] > 0
    assert (spilled["ok"], spilled["absent"]) == (False, 0)
    assert segment["pages"][small] > 1000
    assert run.printed["fail"]["thrown"] == f"node {small} has not enough free memory"
    assert run.printed["touch"]["thrown"] is None
    assert "were first touched on another node" in run.printed["touch fail"]["thrown"]
    assert run.printed["after"]["ok"]
