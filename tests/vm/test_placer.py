# SPDX-License-Identifier: Apache-2.0
"""Under a plan, the pages and threads of unmodified programs are placed as planned.

The kernels of guests report the nodes: special programs ask page by page. For the examples, the
placer's own report is used, which these programs confirm.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from integration.conftest import EXAMPLES, make
from numascape.plan import Plan, StructureRule, ThreadRule
from numascape.plan.document import write_plan
from vm.conftest import Boot
from vm.guest import GuestNode

PROGRAMS = Path(__file__).parent / "programs"
RUN_PLANS = Path(__file__).with_name("run_plans.py")
PAGES = 64
SPILLED_MIB = 192
STATUS = 7  # of the program `planned`

SMALL_LAST_NODE = "four nodes, one without CPUs"
GUESTS = {
    "two nodes": [GuestNode(2, 640), GuestNode(2, 256)],
    # The last one is full before `spilled` is in it.
    SMALL_LAST_NODE: [
        *(GuestNode(1, 448) for _ in range(3)),
        GuestNode(0, SPILLED_MIB - 32),
    ],
    "eight nodes": [GuestNode(1, 320), *(GuestNode(1, 192) for _ in range(7))],
}
MATMUL = ("A", "B", "C")
SORT = ("keys", "bucketed_keys", "key_buffer")
WAVE = ("wave.vx", "wave.vy", "wave.sxx", "wave.lambda", "wave.buoyancy")


@dataclass(frozen=True)
class Run:
    """A guest, and the result of each job in it."""

    nodes: list[GuestNode]
    folder: Path

    @property
    def cpus(self) -> int:
        return sum(node.cpus for node in self.nodes)

    @property
    def last(self) -> int:
        return len(self.nodes) - 1

    def printed(self, job: str) -> list[tuple[str, list[int]]]:
        """The lines of the program: a name, and numbers."""
        lines = (line.split(":") for line in (self.folder / f"{job}.out").read_text().splitlines()
                 if not line.startswith(("matmul", "bucketsort", "seismic")))  # fmt: skip
        return [("::".join(words[:-1]).replace("::::", "::"), [int(n) for n in words[-1].split()])
                for words in lines]  # fmt: skip

    def pages(self, structure: str, job: str = "planned") -> list[int]:
        """The nodes of a structure's pages, its instances one after the other."""
        found = [node for name, nodes in self.printed(job) if name == structure for node in nodes]
        assert found, structure
        return found

    def verified(self, job: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / f"{job}.json").read_text())
        return found

    def status(self, job: str) -> int:
        lines = (line.split() for line in (self.folder / "output").read_text().splitlines())
        return {name: int(status) for name, status in lines}[job]


def posts(count: int) -> tuple[float, ...]:
    """The boundaries of growing parts."""
    return tuple((k / count) ** 1.5 for k in range(count + 1))


def parted(name: str, count: int) -> StructureRule:
    return StructureRule(name, "parts", nodes=tuple(range(count)), parts=posts(count))


def plan_of(nodes: list[GuestNode]) -> Plan:
    """For the programs `planned` and `planned_fortran`."""
    count = len(nodes)
    every, last = tuple(range(count)), (count - 1,)
    cpus = tuple(reversed(range(sum(node.cpus for node in nodes))))
    return Plan(
        threads=(
            ThreadRule(cpus, order=f"0-{len(cpus) - 1}"),
            ThreadRule((0,), name="sleep*"),
        ),
        structures=(
            parted("divided", count),
            StructureRule("dealt", "weighted-interleave", nodes=every,
                          weights=tuple(range(1, count + 1))),
            StructureRule("interleaved", "interleave", nodes=every),
            StructureRule("bound", "bind", nodes=last),
            StructureRule("grown", "parts", nodes=(count - 1, 0), parts=(0, 0.5, 1)),
            StructureRule("rows[i]", "bind", nodes=(1,)),
            parted("table", count),
            parted("buffer", count),
            StructureRule("before", "bind", nodes=last),
            StructureRule("mapped", "interleave", kind="mapping", nodes=every),
            StructureRule("forked", "preferred", nodes=(1,)),
            StructureRule("spilled", "preferred", nodes=last),
            StructureRule("u", "bind", nodes=(1,)),
            StructureRule("v", "bind", nodes=(0,)),
            parted("w", count),
            StructureRule("fields::module_array", "interleave", nodes=every),
        ),
    )  # fmt: skip


def example_plan(nodes: list[GuestNode], names: tuple[str, ...], program: str) -> Plan:
    cpus = tuple(range(sum(node.cpus for node in nodes)))
    return Plan(
        threads=(ThreadRule(cpus, order=f"0-{len(cpus) - 1}"),),
        structures=tuple(parted(name, len(nodes)) for name in names),
        program=program,
        # A guest has more CPUs than the emulating machine, so threads that spin block the others.
        environment={"OMP_WAIT_POLICY": "passive"},
    )


@pytest.fixture(scope="module", params=GUESTS)
def run(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    boot: Boot,
) -> Run:
    build = request.config.cache.mkdir("guest-programs")
    make(PROGRAMS, f"BUILD={build}")
    make(EXAMPLES)
    examples = EXAMPLES / "build"
    nodes = GUESTS[request.param]
    found = Run(nodes, tmp_path_factory.mktemp("guest"))
    threads = str(found.cpus)
    spilled = str(SPILLED_MIB) if nodes[-1].cpus == 0 else "0"
    write_plan(plan_of(nodes), found.folder / "planned.toml")
    for job, names in (("matmul", MATMUL), ("bucketsort", SORT), ("seismic", WAVE)):
        write_plan(example_plan(nodes, names, job), found.folder / f"{job}.toml")
    programs: dict[str, tuple[str, list[object]]] = {
        "planned": ("planned", [build / "planned", threads, spilled]),
        "fortran": ("planned", [build / "planned_fortran"]),
        "matmul": ("matmul", [examples / "matmul", "-n", "128", "-t", threads, "naive"]),
        "bucketsort": (
            "bucketsort",
            [examples / "bucketsort", "-n", "17", "-t", threads, "dynamic"],
        ),
        "seismic": ("seismic", [examples / "seismic", "-n", "16", "-s", "2", "-t", threads,
                                "serial"]),
    }  # fmt: skip
    jobs = [
        (job, ["run", "--plan", f"{plan}.toml", "--json", f"{job}.json", "--", *map(str, words)])
        for job, (plan, words) in programs.items()
    ]
    (found.folder / "jobs.json").write_text(json.dumps(jobs))
    boot(nodes, shlex.join([sys.executable, str(RUN_PLANS), "jobs.json"]), found.folder)
    return found


def wanted_parts(count: int) -> list[int]:
    fences = [round(post * PAGES) for post in posts(count)]
    return [k for k in range(count) for _ in range(fences[k + 1] - fences[k])]


def is_even(nodes: list[int], count: int) -> bool:
    pages = Counter(nodes)
    return set(pages) == set(range(count)) and max(pages.values()) - min(pages.values()) <= 1


def test_blocks_are_divided_at_the_fence_posts(run: Run) -> None:
    assert run.pages("divided") == wanted_parts(len(run.nodes))
    assert run.pages("w", "fortran") == wanted_parts(len(run.nodes))
    assert run.pages("grown") == [run.last] * (PAGES // 2) + [0] * (PAGES // 2)


def test_weights_deal_pages_out(run: Run) -> None:
    total = sum(range(1, len(run.nodes) + 1))
    for first in (PAGES // 3, PAGES):  # not one node's pages after the other's
        pages = Counter(run.pages("dealt")[:first])
        assert all(abs(pages[k] - first * (k + 1) / total) <= 2 for k in range(len(run.nodes)))


def test_interleaved_pages_take_turns(run: Run) -> None:
    assert is_even(run.pages("interleaved"), len(run.nodes))
    assert is_even(run.pages("mapped"), len(run.nodes))


def test_bound_and_preferred_pages_are_on_their_node(run: Run) -> None:
    assert run.pages("bound") == [run.last] * PAGES
    assert run.pages("rows") == [1] * 100
    assert run.pages("u", "fortran") == [1] * PAGES
    assert run.pages("v", "fortran") == [0] * PAGES


def test_what_no_rule_names_is_where_it_was_touched(run: Run) -> None:
    cpu = run.cpus - 1  # main's, by the plan
    node = next(n for n in range(len(run.nodes)) if cpu < sum(m.cpus for m in run.nodes[: n + 1]))
    assert run.pages("unplanned")[1:-1] == [node] * (PAGES - 1)


@pytest.mark.parametrize("variable", ["table", "buffer"])
def test_variables_are_divided_too(run: Run, variable: str) -> None:
    pages = run.pages(variable)
    wanted = Counter(wanted_parts(len(run.nodes)))
    assert sorted(pages[1:-1]) == pages[1:-1]
    # They do not begin at the start of a page, so their neighbours also use the pages at the ends.
    differences = [abs(Counter(pages)[node] - wanted[node]) for node in range(len(run.nodes))]
    assert max(differences) <= 2


def test_pages_that_were_touched_before_move(run: Run) -> None:
    assert run.pages("before")[1:-1] == [run.last] * (len(run.pages("before")) - 2)


def test_a_forked_process_is_under_the_plan_too(run: Run) -> None:
    assert run.pages("forked") == [1] * PAGES
    assert run.pages("child 0") == [run.cpus - 1]


def test_threads_run_where_the_plan_says(run: Run) -> None:
    printed = dict(run.printed("planned"))
    assert [printed[f"thread {t}"] for t in range(run.cpus)] == [
        [run.cpus - 1 - t] for t in range(run.cpus)
    ]
    assert printed["named 0"] == [0]


def test_the_exit_status_is_the_programs(run: Run) -> None:
    assert run.status("planned") == STATUS
    assert run.status("fortran") == run.status("matmul") == run.status("seismic") == 0


@pytest.mark.parametrize("run", [SMALL_LAST_NODE], indirect=True)  # other guests' are larger
def test_a_full_node_spills(run: Run) -> None:
    pages = Counter(run.pages("spilled"))
    assert sum(pages.values()) == SPILLED_MIB << 20 >> 12
    assert pages[run.last] > 10_000
    assert set(pages) > {run.last}
    (item,) = (s for s in run.verified("planned")["structures"] if s["name"] == "spilled")
    assert item["nodes"] == {str(node): count for node, count in pages.items()}
    assert (item["right"], item["untouched"]) == (pages[run.last], 0)


def test_the_report_says_what_the_kernel_says(run: Run) -> None:
    told = {item["name"]: item for item in run.verified("planned")["structures"]}
    for name in ("divided", "dealt", "bound", "interleaved", "mapped"):
        pages = Counter(run.pages(name))
        assert told[name]["nodes"] == {str(node): n for node, n in pages.items()}
        assert (told[name]["right"], told[name]["share"]) == (PAGES, 1.0)
    assert told["rows[i]"]["instances"] == 50


@pytest.mark.parametrize(
    ("job", "structures"), [("matmul", MATMUL), ("bucketsort", SORT), ("seismic", WAVE)]
)
def test_examples_are_as_planned(run: Run, job: str, structures: tuple[str, ...]) -> None:
    found = run.verified(job)
    for item in found["structures"]:
        assert item["name"] in structures
        assert item["instances"] == 1
        assert item["share"] >= 0.99
        assert item["untouched"] == 0
        assert len(item["nodes"]) == len(run.nodes)
    planned = [thread for thread in found["threads"] if thread["planned"]]
    assert len(planned) == run.cpus
    assert all(t["is_right"] and t["last_cpu"] in t["planned"] for t in planned)
