# SPDX-License-Identifier: Apache-2.0
"""Predicts the time of a run with its pages and threads on given nodes of a machine.

The time of a phase is the longest of these times:

- of each node's memory, for its traffic;
- of each link between nodes, for its traffic;
- of each thread, and of the cores that threads share, to execute accesses and to wait for lines.

Waiting takes longer if memory is busier, and memory is less busy if the phase takes longer. The
time at which both agree is found by bisection. docs/prediction.md derives the model and gives its
sources.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from numascape.machine import Machine
from numascape.prediction.copies import bytes_of_copy, seconds_to_copy
from numascape.prediction.demand import Demand, demand_of
from numascape.prediction.load import (
    KERNEL_TIME,
    Load,
    RunPlacement,
    Tuning,
    load_of,
    placed_on,
    variations,
)
from numascape.prediction.speeds import HARDWARE_THREADS_GAIN, Floats, Speeds, speeds_of
from numascape.quantities import share_of
from numascape.trace import Trace

LimitKind = Literal["memory", "link", "cores", "thread", "nothing"]

_STEPS: Final = 40
_CLOSE: Final = 1e-7
_BUSY: Final = 0.85
"""At or above this share of a phase's time, a busy memory or link is called the limit of the phase:
threads then mostly wait for it."""


@dataclass(frozen=True)
class PhasePrediction:
    """A phase's time in seconds over all its repetitions, and the resource that limits it."""

    name: str
    seconds: float
    limit: str
    limit_kind: LimitKind


@dataclass(frozen=True, eq=False, repr=False)
class Prediction:
    """A predicted time, never a measured one.

    `relative` is the time over that of the reference (1 without a reference); it is between `low`
    and `high` if the assumptions of the model are varied. `limit` is the resource that limits most
    of the time. `remote_share` is the share of the memory traffic that crosses between nodes.
    `remote_accesses` is the share of the accesses, cached or not, to pages on other nodes.
    `traffic` is in bytes: the row is the node of the CPU, the column the node of the memory, in the
    order of `nodes`. `variants` are the seconds with each variation; the first has none.
    `extra_bytes` is the memory of copies. `structure_pages` (structures x nodes) is the number of
    pages of each structure on each node, if it was asked for. Each node has a copy of the `copied`
    structures instead. `all_threads` is the sum of the seconds that each thread needs.
    """

    label: str
    seconds: float
    relative: float
    low: float
    high: float
    limit: str
    limit_kind: LimitKind
    remote_share: float
    remote_accesses: float
    traffic: Floats
    nodes: tuple[int, ...]
    phases: tuple[PhasePrediction, ...]
    variants: tuple[float, ...]
    assumed: tuple[str, ...] = ()
    extra_bytes: int = 0
    structure_pages: Floats | None = None
    copied: tuple[int, ...] = ()
    all_threads: float = 0.0

    def __repr__(self) -> str:
        """One line: the fields that a reader compares."""
        return (
            f"<{self.label}: predicted {self.relative:.3f} times the reference "
            f"({self.low:.3f} to {self.high:.3f}), {self.remote_share:.0%} of the traffic remote, "
            f"limited by {self.limit}>"
        )


@dataclass(frozen=True, eq=False)
class _Timing:
    """The seconds of each phase, and those that each memory, link, thread and node's cores need."""

    seconds: Floats
    memory: Floats
    link: Floats
    thread: Floats
    cores: Floats


def predict(
    trace: Trace | Demand,
    machine: Machine | Speeds,
    placement: RunPlacement,
    *,
    reference: Prediction | None = None,
    tuning: Tuning | None = None,
    with_pages: bool = False,
) -> Prediction:
    """Predict the time of the run with this placement of its pages and threads.

    `with_pages` asks for `structure_pages`. To predict several times, pass a `Demand` and `Speeds`
    computed once. Raises NumascapeError if the machine does not have a node.
    """
    speeds = machine if isinstance(machine, Speeds) else speeds_of(machine)
    demand = trace if isinstance(trace, Demand) else demand_of(trace, speeds)
    copy = _bytes_of_copies(demand, placement)
    thread_seconds = placement.thread_seconds + seconds_to_copy(copy, speeds)
    placed = placed_on(demand, speeds, placement)
    load = load_of(demand, speeds, placed, tuning or Tuning())
    timing = _solve(load, speeds)
    variants = [timing, *(_solve(*varied) for varied in variations(load, speeds, demand))]
    alone = [float(variant.seconds.sum()) for variant in variants]
    seconds = tuple(
        [found + thread_seconds for found in alone]
        + [alone[0] + factor * thread_seconds for factor in KERNEL_TIME]
    )
    relatives = [1.0]
    if reference is not None:
        relatives = [_ratio(*pair) for pair in zip(seconds, reference.variants, strict=True)]
    phases = _phases(timing, load, speeds, demand.phase_names)
    limit, kind = _most_limiting(phases)
    traffic = load.traffic().sum(axis=0)
    total, made = float(traffic.sum()), float(demand.counts.sum())
    return Prediction(
        label=placement.label,
        seconds=seconds[0],
        relative=relatives[0],
        low=min(relatives),
        high=max(relatives),
        limit=limit,
        limit_kind=kind,
        remote_share=share_of(total - float(np.trace(traffic)), total),
        remote_accesses=share_of(made - demand.local_accesses(placed), made),
        traffic=traffic,
        nodes=speeds.nodes,
        phases=phases,
        variants=seconds,
        assumed=speeds.assumed,
        extra_bytes=copy * (len(speeds.cpu_nodes) - 1),
        structure_pages=demand.structure_pages(placed) if with_pages else None,
        copied=tuple(placement.copied),
        all_threads=float(timing.thread.sum()),
    )


def predicted_seconds(
    demand: Demand, speeds: Speeds, placement: RunPlacement, tuning: Tuning | None = None
) -> float:
    """The `seconds` of `predict`, without the interval, which takes most of its time.

    For code that compares placements.
    """
    load = load_of(demand, speeds, placed_on(demand, speeds, placement), tuning or Tuning())
    besides = placement.thread_seconds + seconds_to_copy(
        _bytes_of_copies(demand, placement), speeds
    )
    return float(_solve(load, speeds).seconds.sum()) + besides


def _bytes_of_copies(demand: Demand, placement: RunPlacement) -> int:
    """The bytes of a node's copies, if making them takes time."""
    return 0 if placement.copies_are_free else bytes_of_copy(demand, placement.copied)


def calibrated(demand: Demand, speeds: Speeds, placement: RunPlacement, seconds: float) -> Tuning:
    """The tuning with which the predicted time of the run with this placement is `seconds`.

    The times of threads are scaled if memory and links need less than the measured time. Otherwise
    the number of lines is reduced.
    """
    placed = placed_on(demand, speeds, placement)

    def predicted(tuning: Tuning) -> float:
        load = load_of(demand, speeds, placed, tuning)
        return float(_solve(load, speeds).seconds.sum())

    if predicted(Tuning(thread_time=0.0)) <= seconds:
        found = _bisected(lambda factor: predicted(Tuning(thread_time=factor)), seconds)
        return Tuning(thread_time=found)
    found = _bisected(lambda factor: predicted(Tuning(lines=factor)), seconds)
    return Tuning(lines=found)


def _bisected(rising: Callable[[float], float], wanted: float) -> float:
    """The factor at which a rising function has the wanted value; at most 10^12."""
    low, high = 0.0, 1.0
    while rising(high) < wanted and high < 1e12:
        low, high = high, 2.0 * high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < wanted else (low, middle)
    return high


def _ratio(seconds: float, reference: float) -> float:
    if reference > 0:
        return seconds / reference
    return 1.0 if seconds == 0 else float("inf")


@dataclass(frozen=True, eq=False)
class _Needs:
    """The seconds that memory, links and computing of each phase need, and the lines to wait for.

    `waits` is in seconds per ns of latency; `executing` is the computing time of each node's cores.
    """

    memory: Floats
    link: Floats
    computing: Floats
    executing: Floats
    waits: Floats
    on: Floats
    cores: npt.NDArray[np.int64]

    @cached_property
    def home(self) -> npt.NDArray[np.intp]:
        """The position of the main node of each thread."""
        return np.asarray(self.on.argmax(axis=1))

    @cached_property
    def anywhere(self) -> npt.NDArray[np.intp]:
        """The threads that run on several nodes; all are spread in the same way."""
        return np.flatnonzero(self.on.max(axis=1) < 1.0)

    def threads_and_cores(
        self, speeds: Speeds, phases: npt.NDArray[np.int64], seconds: Floats
    ) -> tuple[Floats, Floats]:
        """The seconds that each thread and each node's cores need if these phases take so long."""
        used = _per_second(self.memory[phases], seconds[:, None])
        crossing = _per_second(self.link[phases], seconds[:, None, None])
        utilisation = np.maximum(used[:, None, :], crossing)
        latency = speeds.latency * speeds.slowdown(utilisation)
        waiting = np.einsum("ptm,ptm->pt", self.waits[phases], latency[:, self.home])
        if len(self.anywhere):
            mean = np.einsum("n,pnm->pm", self.on[self.anywhere[0]], latency)
            waiting[:, self.anywhere] = np.einsum(
                "ptm,pm->pt", self.waits[np.ix_(phases, self.anywhere)], mean
            )
        # A node's threads share its cores: a thread that is done leaves its core to the others.
        shared = self.executing[phases] + waiting @ self.on / self.cores
        return self.computing[phases] + waiting, shared

    def longest(self, speeds: Speeds, phases: npt.NDArray[np.int64], seconds: Floats) -> Floats:
        """The seconds that the slowest thread or node of these phases needs."""
        threads, shared = self.threads_and_cores(speeds, phases, seconds)
        alone = threads.max(axis=1, initial=0.0)
        return np.asarray(np.maximum(alone, shared.max(axis=1, initial=0.0)))


def _per_second(needed: Floats, seconds: Floats) -> Floats:
    """The quotient; 0 for a phase without time, which has no traffic."""
    return np.divide(needed, seconds, out=np.zeros_like(needed), where=seconds > 0)


def _needs(load: Load, speeds: Speeds) -> _Needs:
    traffic = load.traffic()
    computing = load.computing * 1e-9
    cores = np.maximum(speeds.cores, 1)
    return _Needs(
        memory=traffic.sum(axis=1) / speeds.controller / 1e9,
        link=traffic / speeds.link / 1e9,
        computing=computing,
        executing=(computing / HARDWARE_THREADS_GAIN) @ load.on / cores,
        waits=load.waits * (1e-9 / speeds.lines_in_flight),
        on=load.on,
        cores=cores,
    )


def _solve(load: Load, speeds: Speeds) -> _Timing:
    """Find each phase's time: the shortest that memory, links, threads and cores allow."""
    needs = _needs(load, speeds)
    every = np.arange(len(needs.memory))
    low = np.maximum(needs.memory.max(axis=1), needs.link.max(axis=(1, 2)))
    # The needed time falls if a phase gets longer. The solution is therefore between the time of
    # memory and the time that is needed if the phase takes only that. `over` and `under` are the
    # needed time minus the phase's time at the two ends.
    over = needs.longest(speeds, every, low) - low
    high = low + np.maximum(over, 0.0)
    under = needs.longest(speeds, every, high) - high
    for step in range(_STEPS):
        left = np.flatnonzero(high - low > _CLOSE * high)
        if not len(left):
            break
        share = 0.5 if step % 3 == 2 else over[left] / (over[left] - under[left])
        middle = low[left] + (high[left] - low[left]) * share
        found = needs.longest(speeds, left, middle) - middle
        more = found > -_CLOSE * middle
        low[left[more]], over[left[more]] = middle[more], found[more]
        less = found < _CLOSE * middle
        high[left[less]], under[left[less]] = middle[less], found[less]
    return _Timing(high, needs.memory, needs.link, *needs.threads_and_cores(speeds, every, high))


def _phases(
    timing: _Timing, load: Load, speeds: Speeds, names: tuple[str, ...]
) -> tuple[PhasePrediction, ...]:
    found = []
    for phase, name in enumerate(names):
        seconds = float(timing.seconds[phase])
        limit: tuple[str, LimitKind] = ("nothing", "nothing")
        if seconds > 0:
            limit = _limit(timing, speeds, phase, seconds)
        found.append(PhasePrediction(name, seconds, *limit))
    return tuple(found)


def _limit(timing: _Timing, speeds: Speeds, phase: int, seconds: float) -> tuple[str, LimitKind]:
    """The busiest memory or link if it is busy for most of the time, else cores or a thread."""
    node = int(timing.memory[phase].argmax())
    link = timing.link[phase]
    start, end = np.unravel_index(int(link.argmax()), link.shape)
    if link[start, end] > max(timing.memory[phase, node], _BUSY * seconds):
        return f"link {speeds.nodes[start]}→{speeds.nodes[end]}", "link"
    if timing.memory[phase, node] >= _BUSY * seconds:
        return f"memory of node {speeds.nodes[node]}", "memory"
    thread, cores = timing.thread[phase], timing.cores[phase]
    if cores.max() > thread.max():
        return f"cores of node {speeds.nodes[int(cores.argmax())]}", "cores"
    return f"thread {int(thread.argmax())}", "thread"


def _most_limiting(phases: Sequence[PhasePrediction]) -> tuple[str, LimitKind]:
    seconds: defaultdict[tuple[str, LimitKind], float] = defaultdict(float)
    for phase in phases:
        seconds[phase.limit, phase.limit_kind] += phase.seconds
    return max(seconds, key=lambda limit: seconds[limit], default=("nothing", "nothing"))
