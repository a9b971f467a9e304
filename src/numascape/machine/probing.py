# SPDX-License-Identifier: Apache-2.0
"""Plans and makes the measurements of a machine, and rejects uncertain ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from numascape.errors import NumascapeError
from numascape.machine.description import (
    Controllers,
    Curve,
    Machine,
    MachineNode,
    Matrix,
    Operation,
    Provenance,
)
from numascape.machine.measuring import Point, ProbeRun, check_placement, run_probe
from numascape.machine.sizes import outside_bytes, sizes_between, thread_counts
from numascape.machine.statistics import Estimate

KIBIBYTE: Final = 1 << 10
_SMALLEST: Final = 4 * KIBIBYTE
_OPERATIONS: Final[tuple[Operation, ...]] = (
    "read", "write", "write-nt", "copy", "copy-nt", "stream", "stream-nt", "triad", "triad-nt",
)  # fmt: skip
# Pauses between blocks of 4 KiB, from none to almost no load.
_DELAYS: Final = (0, 5, 20, 50, 100, 200, 500, 1000, 5000)
# A value with a large spread is measured again before it is rejected.
_ATTEMPTS: Final = 3


@dataclass(frozen=True)
class ProbeRequest:
    """The options; `spread` is the largest allowed half width of an interval over its median."""

    quick: bool = False
    spread: float = 0.1
    date: str = ""


@dataclass(frozen=True)
class ProbeStep:
    """A planned measurement: its name, and the function that makes it."""

    name: str
    run: Callable[[], object]


class Probe:
    """The measurements of one machine, as steps to run one after the other."""

    def __init__(self, machine: Machine, wanted: ProbeRequest) -> None:
        """Plan the probe of `machine`, which must be this host."""
        self.machine = machine
        self.wanted = wanted
        usable = set(machine.usable_cpus)
        allowed = machine.allowed_nodes
        self.askers = [
            (i, cores) for i, node in enumerate(machine.nodes) if (cores := _cores(machine, node))
        ]
        self.targets = [
            (j, node)
            for j, node in enumerate(machine.nodes)
            if node.memory_bytes and (allowed is None or node.node in allowed)
        ]
        if not usable or not self.askers or not self.targets:
            raise NumascapeError("this process may not use any CPU, or any memory")
        self.outside = outside_bytes(machine, wanted.quick)
        self.huge = True
        self.interrupted = 0
        self.latency: dict[tuple[int, int], Estimate] = {}
        self.bandwidth: dict[tuple[Operation, int, int], Estimate] = {}
        self.controllers: dict[int, Estimate] = {}
        self.curves: dict[int, Curve] = {}
        self.loaded: list[Curve] = []
        self.scaling: list[Curve] = []
        self.notes: list[str] = []

    def steps(self) -> Iterator[ProbeStep]:
        """All measurements; run each step once, in this order."""
        yield from self._latency_steps()
        yield from self._bandwidth_steps()
        for j, node in self.targets:
            yield ProbeStep(f"all CPUs reading node {node.node}", lambda j=j: self._controller(j))  # type: ignore[misc]
        for operation in ("read", "triad"):
            yield ProbeStep(f"{operation} by 1 to all threads", lambda o=operation: self._scale(o))  # type: ignore[misc]
        yield ProbeStep("latency under load", self._load)

    def result(self) -> Machine:
        """The machine, with measured values before those that were known already."""
        machine, made = self.machine, self._provenance("random pointer chase")
        moved = self._provenance("vector loops, one thread per core")
        bandwidths = [
            self._matrix({(i, j): e for (o, i, j), e in self.bandwidth.items() if o == operation},
                         moved, operation)
            for operation in dict.fromkeys(key[0] for key in self.bandwidth)
        ]  # fmt: skip
        size = range(len(machine.nodes))
        reading = Controllers(
            tuple(_median(self.controllers.get(j)) for j in size),
            moved,
            tuple(_half_width(self.controllers.get(j)) for j in size),
        )
        return replace(
            machine,
            latencies=(self._matrix(self.latency, made, "read"), *machine.latencies),
            bandwidths=(*bandwidths, *machine.bandwidths),
            controllers=(reading, *machine.controllers),
            latency_by_size=(*self.curves.values(), *machine.latency_by_size),
            loaded_latency=(*self.loaded, *machine.loaded_latency),
            scaling=(*self.scaling, *machine.scaling),
            notes=(*machine.notes, *self.notes),
        )

    def _latency_steps(self) -> Iterator[ProbeStep]:
        for i, _ in self.askers:
            for j, node in self.targets:
                name = f"latency from node {self.machine.nodes[i].node} to {node.node}"
                yield ProbeStep(name, lambda i=i, j=j: self._latency(i, j))  # type: ignore[misc]
        for i, _ in self.askers[: 1 if self.wanted.quick else None]:
            name = f"caches of node {self.machine.nodes[i].node}"
            yield ProbeStep(name, lambda i=i: self._latency_by_size(i))  # type: ignore[misc]

    def _bandwidth_steps(self) -> Iterator[ProbeStep]:
        for operation in _OPERATIONS[: 1 if self.wanted.quick else None]:
            for i, _ in self.askers:
                for j, node in self.targets:
                    name = f"{operation} from node {self.machine.nodes[i].node} to {node.node}"
                    yield ProbeStep(
                        name,
                        lambda o=operation, i=i, j=j: self._bandwidth(o, i, j),  # type: ignore[misc]
                    )

    def _latency(self, i: int, j: int) -> None:
        cpu = dict(self.askers)[i][0]
        node = self.machine.nodes[j]
        self.latency[i, j] = self._certain(
            f"the latency from node {self.machine.nodes[i].node} to node {node.node}",
            lambda: self._run("latency", j, cpu=cpu, node=node.node, bytes=self._bytes(j)),
        )

    def _latency_by_size(self, i: int) -> None:
        own = next((j for j, _ in self.targets if j == i), self.targets[0][0])
        cpu, node = dict(self.askers)[i][0], self.machine.nodes[own]
        sizes = sizes_between(_SMALLEST, self._bytes(own), 1 if self.wanted.quick else 3)
        found = self._certain_points(
            f"the latencies by size of node {self.machine.nodes[i].node}",
            lambda: self._run("latency", own, cpu=cpu, node=node.node, bytes=sizes),
        )
        if not found:
            return
        self.curves[i] = Curve(
            tuple((point.at, point.estimate.median) for point in found),
            self._provenance("random pointer chase"),
            self.machine.nodes[i].node,
            node.node,
        )

    def _bandwidth(self, operation: Operation, i: int, j: int) -> None:
        cpus, node = dict(self.askers)[i], self.machine.nodes[j]
        self.bandwidth[operation, i, j] = self._certain(
            f"{operation} bandwidth from node {self.machine.nodes[i].node} to node {node.node}",
            lambda: self._stream(operation, j, cpus, [node.node] * len(cpus)),
        )

    def _controller(self, j: int) -> None:
        cpus = [cpu for _, cores in self.askers for cpu in cores]
        node = self.machine.nodes[j].node
        self.controllers[j] = self._certain(
            f"the bandwidth of node {node}",
            lambda: self._stream("read", j, cpus, [node] * len(cpus)),
        )

    def _scale(self, operation: Operation) -> None:
        """Threads fill node after node; each uses memory of its own node, if there is any."""
        placed = [(cpu, self._home(i)) for i, cores in self.askers for cpu in cores]
        points = []
        for count in thread_counts(len(placed), [len(cores) for _, cores in self.askers]):
            cpus, nodes = zip(*placed[:count], strict=True)
            known = self._certain(
                f"{operation} bandwidth of {count} threads",
                lambda c=cpus, n=nodes: self._stream(operation, None, list(c), list(n)),  # type: ignore[misc]
            )
            points.append((float(count), known.median))
        made = self._provenance("vector loops, memory of each thread's node")
        self.scaling.append(Curve(tuple(points), made, operation=operation))

    def _load(self) -> None:
        i, cores = self.askers[0]
        others = cores[1:] or [cpu for k, more in self.askers if k != i for cpu in more]
        if not others:
            return  # with one CPU, no other CPU can make a load
        j = next((j for j, _ in self.targets if j == i), self.targets[0][0])
        node = self.machine.nodes[j]
        part = min(self._bytes(j), self._room(j) // (len(others) + 1))
        found = self._certain_points(
            "the latencies under load",
            lambda: self._run(
                "loaded", j, cpu=cores[0], node=node.node, cpus=others, bytes=part, delays=_DELAYS
            ),
        )
        points = sorted((p.load_gb_s, p.estimate.median) for p in found if p.load_gb_s > 0)
        made = self._provenance(f"random pointer chase while {len(others)} CPUs read")
        if points:
            self.loaded.append(Curve(tuple(points), made, self.machine.nodes[i].node, node.node))

    def _stream(
        self, operation: Operation, j: int | None, cpus: list[int], nodes: list[int]
    ) -> ProbeRun:
        place = self.targets[0][0] if j is None else j
        size = self._bytes(place) if len(set(nodes)) == 1 else self._bytes(place) * len(set(nodes))
        return self._run(
            "bandwidth", j, operation=operation, cpus=cpus, nodes=nodes, bytes=size, sample_ms=5
        )

    def _run(self, kind: str, j: int | None, **options: object) -> ProbeRun:
        samples = 9 if self.wanted.quick else 15
        found = run_probe(kind, samples=samples, **options)
        node = self.machine.nodes[self.targets[0][0] if j is None else j].node
        check_placement(found, node, alone=len(self.machine.nodes) == 1)
        self.huge = self.huge and 2 * found.setting.huge_bytes >= found.setting.all_bytes
        self.interrupted += sum(point.interrupted for point in found.points)
        return found

    def _certain(self, what: str, run: Callable[[], ProbeRun]) -> Estimate:
        """The best of a few attempts, if it is certain enough."""
        best: Estimate | None = None
        for _ in range(_ATTEMPTS):
            found = run().points[-1].estimate
            best = found if best is None or found.spread < best.spread else best
            if best.spread <= self.wanted.spread:
                return best
        raise NumascapeError(
            f"{what} is uncertain by {best.spread if best else 0:.1%}, more than --spread "
            f"{self.wanted.spread:.0%}: end other programs, or use a larger --spread"
        )

    def _certain_points(self, what: str, run: Callable[[], ProbeRun]) -> list[Point]:
        """The certain points of a curve, each from the best of a few attempts.

        Uncertain points are left out, and a note of the machine has their number.
        """
        best: dict[float, Point] = {}
        for _ in range(_ATTEMPTS):
            for point in run().points:
                known = best.get(point.at)
                if known is None or point.estimate.spread < known.estimate.spread:
                    best[point.at] = point
            certain = [p for p in best.values() if p.estimate.spread <= self.wanted.spread]
            if len(certain) == len(best):
                break
        if len(certain) < len(best):
            self.notes.append(
                f"{len(best) - len(certain)} of {len(best)} values are left out of {what}: "
                f"they are uncertain by more than {self.wanted.spread:.0%}"
            )
        return certain

    def _home(self, i: int) -> int:
        """The node of memory for threads of node i: its own, or else the first with memory."""
        numbers = [node.node for _, node in self.targets]
        own = self.machine.nodes[i].node
        return own if own in numbers else numbers[0]

    def _room(self, j: int) -> int:
        return self.machine.nodes[j].memory_bytes // 4

    def _bytes(self, j: int) -> int:
        """Several times the last cache, if the node has enough memory."""
        return max(min(self.outside, self._room(j)), 1 << 20)

    def _provenance(self, method: str) -> Provenance:
        pages = "huge pages" if self.huge else "small pages"
        return Provenance(
            "measured", f"numascape machine probe: {method}, {pages}", self.wanted.date
        )

    def _matrix(
        self, known: dict[tuple[int, int], Estimate], made: Provenance, operation: Operation
    ) -> Matrix:
        size = range(len(self.machine.nodes))
        return Matrix(
            tuple(tuple(_median(known.get((i, j))) for j in size) for i in size),
            made,
            tuple(tuple(_half_width(known.get((i, j))) for j in size) for i in size),
            operation,
        )


def _cores(machine: Machine, node: MachineNode) -> list[int]:
    """The first usable CPU of each of the node's cores, in order."""
    usable = set(machine.usable_cpus) & set(node.cpus)
    cores = [sorted(usable & set(core)) for core in machine.cores]
    first = [core[0] for core in cores if core]
    return sorted(first) or sorted(usable)


def _median(known: Estimate | None) -> float | None:
    return None if known is None else float(f"{known.median:.5g}")


def _half_width(known: Estimate | None) -> float | None:
    return None if known is None or not known.half_width else float(f"{known.half_width:.3g}")
