# SPDX-License-Identifier: Apache-2.0
"""Balances a running charm4py application: its chares measure themselves, and migrate.

An element of the array derives from `MeasuredChare`, marks the entry methods whose time counts, and
sends through `tell`, so that its messages are known:

    class Cell(MeasuredChare):
        @measured
        def step(self, done):
            ...
            self.tell((x + 1, y), "receive", edge)

    balanced = balance(cells, target)     # in a coroutine, between two iterations

Alternatively, the elements decide when they can be balanced, as with AtSync: each element calls
`at_sync`. When all have called it, they are mapped and migrated, and `resumeFromSync` is called on
each:

    balance_at_sync(cells, target)        # once, in a coroutine
    charm.start(main, classes=[Balancer])

The runtime's own measurements are not used: they do not count the time of broadcast entry methods
for the elements that execute them.
"""

from __future__ import annotations

import functools
import pickle
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from charm4py import Chare, Future, Reducer, charm, coro

from numascape.balance.graph import TaskGraph, task_graph
from numascape.balance.mapping import OURS, Balanced, Options, Problem
from numascape.balance.target import Target, flat_target
from numascape.errors import NumascapeError

Index = tuple[int, ...]
# About an element: index, processor, seconds, messages (count and bytes by receiver), own bytes.
Fact = tuple[Index, int, float, dict[Index, tuple[int, int]], int]
Method = TypeVar("Method", bound=Callable[..., Any])


def measured(method: Method) -> Method:
    """Decorate an entry method so that its CPU time is charged to its element."""

    @functools.wraps(method)
    def timed(self: MeasuredChare, *arguments: Any) -> Any:
        if self.measured_since is not None:  # the time of its measured caller contains it
            return method(self, *arguments)
        self.measured_since = time.thread_time()
        try:
            return method(self, *arguments)
        finally:
            self.measured_load = self.load_so_far()
            self.measured_since = None

    return timed  # type: ignore[return-value]


class MeasuredChare(Chare):  # type: ignore[misc]
    """A chare that counts its CPU time and its messages since they were last reported."""

    # The time when the running measured method began or was last charged; None if none runs.
    measured_since: float | None = None
    measured_load = 0.0
    # The future to complete after our migration; None if the runtime itself migrates the element.
    migration_done: Any = None

    def load_so_far(self) -> float:
        """Seconds of measured entry methods, including the running one; 0 before the first."""
        since = self.measured_since
        return self.measured_load + (0.0 if since is None else time.thread_time() - since)

    def tell(self, receiver: Index, method: str, *arguments: Any) -> None:
        """Call an entry method of another element of the same array, and count the message."""
        sent = self.__dict__.setdefault("measured_messages", {})
        count, size = sent.get(receiver, (0, 0))
        sent[receiver] = (count + 1, size + len(pickle.dumps(arguments)))
        getattr(self.thisProxy[receiver], method)(*arguments)

    def report_measurements(self, wanted: Any) -> None:
        """Contribute the measurements, and reset them."""
        self.reduce(wanted, [self._take_measurements()], Reducer.gather)

    def sync_with(self, balancer: Any, done: Any) -> None:
        """Let this balancer act when all elements have called at_sync."""
        self.balancer = balancer
        self.reduce(done)

    def at_sync(self) -> None:
        """Say that this element can be balanced; resumeFromSync is called after the balancing."""
        if getattr(self, "balancer", None) is None:
            raise NumascapeError("call balance_at_sync(array) before at_sync")
        self.reduce(self.balancer.balance, [self._take_measurements()], Reducer.gather)

    def resumeFromSync(self) -> None:  # noqa: N802  the runtime's name
        """Continue after the balancing; elements override this method."""

    def _take_measurements(self) -> Fact:
        facts = (
            tuple(self.thisIndex),
            charm.myPe(),
            self.load_so_far(),
            dict(getattr(self, "measured_messages", {})),
            len(pickle.dumps(self.state_to_migrate())),
        )
        self.measured_load = 0.0
        if self.measured_since is not None:
            self.measured_since = time.thread_time()
        self.measured_messages: dict[Index, tuple[int, int]] = {}
        return facts

    def state_to_migrate(self) -> dict[str, Any]:
        """The attributes that migrate; without runtime objects, which the runtime makes again."""
        return {
            name: value
            for name, value in self.__dict__.items()
            if name not in ("thisProxy", "thisIndex", "migration_done") and _plain(value)
        }

    def go_where_mapped(self, processors: dict[Index, int], done: Any) -> None:
        """Migrate to the processor that the mapping gives this element."""
        to = processors[tuple(self.thisIndex)]
        if to == charm.myPe():
            self.reduce(done)
        else:
            self.migration_done = done
            self.migrate(to)

    def migrated(self) -> None:
        """Called by the runtime on the new processor, also if its own strategy migrates."""
        done, self.migration_done = self.migration_done, None
        if done is not None:
            self.reduce(done)


def _plain(value: Any) -> bool:
    return isinstance(value, (int, float, str, bytes, list, tuple, dict, np.ndarray))


def measurements(array: Any) -> tuple[list[Index], TaskGraph]:
    """Indices of the array's elements in order, and their measurements since the last call.

    Call it in a coroutine, while no element works.
    """
    wanted = Future()
    array.report_measurements(wanted)
    return graph_of_facts(wanted.get())


def graph_of_facts(gathered: list[Any]) -> tuple[list[Index], TaskGraph]:
    """Turn the contributions of the elements into indices, in order, and a task graph."""
    facts: list[Fact] = sorted(_flattened(gathered), key=lambda fact: fact[0])
    indices = [fact[0] for fact in facts]
    place = {index: i for i, index in enumerate(indices)}
    known = [
        (i, place[to], count, size)
        for i, fact in enumerate(facts)
        for to, (count, size) in fact[3].items()
        if to in place
    ]
    graph = task_graph(
        load=[fact[2] for fact in facts],
        core=[fact[1] for fact in facts],
        sender=[edge[0] for edge in known],
        receiver=[edge[1] for edge in known],
        count=[edge[2] for edge in known],
        bytes=[edge[3] for edge in known],
        migrated_bytes=[fact[4] for fact in facts],
    )
    return indices, graph


def _flattened(gathered: list[Any]) -> list[Any]:
    """Some versions of charm4py wrap each contribution in a list; unwrap them."""
    return [fact[0] if isinstance(fact, list) else fact for fact in gathered]


def balance(
    array: Any,
    target: Target | None = None,
    algorithm: str = OURS,
    options: Options | None = None,
) -> Balanced:
    """Map the array's elements to processors by their measurements, and migrate them.

    Call it in a coroutine, while no element works. It returns when all elements have migrated.
    Processor i is core i of the target; the default target has one node. Raises NumascapeError.
    """
    on = _target(target)
    return _balance(array, measurements(array), on, algorithm, options)


def _target(target: Target | None) -> Target:
    if target is None:
        return flat_target(1, charm.numPes(), 1.0)
    if target.cores != charm.numPes():
        raise NumascapeError(
            f"the target has {target.cores} cores, but charm4py runs on {charm.numPes()} processors"
        )
    return target


def _balance(
    array: Any,
    measured: tuple[list[Index], TaskGraph],
    target: Target,
    algorithm: str,
    options: Options | None,
) -> Balanced:
    indices, graph = measured
    balanced = Problem(graph, target).run(algorithm, options)
    done = Future()
    array.go_where_mapped(dict(zip(indices, balanced.mapping.tolist(), strict=True)), done)
    done.get()
    return balanced


class Balancer(Chare):  # type: ignore[misc]
    """Balances an array each time all of its elements have called at_sync."""

    def __init__(self, array: Any, target: Target, algorithm: str, options: Options | None) -> None:
        self.array = array
        self.settings = (target, algorithm, options)
        self.balanced: list[Balanced] = []

    @coro  # type: ignore[untyped-decorator]
    def balance(self, gathered: list[Any]) -> None:
        """Map the elements, wait until they have migrated, and resume them."""
        self.balanced.append(_balance(self.array, graph_of_facts(gathered), *self.settings))
        self.array.resumeFromSync()

    def history(self) -> list[Balanced]:
        """The result of each balancing; call it with ret=True."""
        return self.balanced


def balance_at_sync(
    array: Any,
    target: Target | None = None,
    algorithm: str = OURS,
    options: Options | None = None,
) -> Any:
    """Balance the array from now on, each time that all its elements have called at_sync.

    Call it in a coroutine. Returns the proxy of a Balancer; this class must be in the `classes` of
    charm.start. The target is as in `balance`. Raises NumascapeError.
    """
    if Balancer not in charm.registered:
        raise NumascapeError("start charm with Balancer: charm.start(main, classes=[Balancer])")
    balancer = Chare(Balancer, args=[array, _target(target), algorithm, options], onPE=0)
    done = Future()
    array.sync_with(balancer, done)
    done.get()
    return balancer
