# SPDX-License-Identifier: Apache-2.0
"""A plan as plain data. docs/plan.md says what each rule means, and has the file's schema."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Policy = Literal["first-touch", "interleave", "weighted-interleave", "bind", "preferred", "parts"]


@dataclass(frozen=True)
class ThreadRule:
    """Where some threads run; of several rules that name a thread the first counts.

    Exactly one of `order` (numbers in order of creation, 0 = main, as in a trace), `openmp`
    (numbers in an OpenMP team) and `name` (a glob over the thread's name) says which threads;
    `order` and `openmp` are lists as `0-15,20`. The k-th of them runs on the k-th of `cpus`, and
    round again; with `together`, each may run on all of `cpus`.
    """

    cpus: tuple[int, ...]
    order: str = ""
    openmp: str = ""
    name: str = ""
    together: bool = False


@dataclass(frozen=True)
class StructureRule:
    """Where a structure's pages lie.

    It applies to structures of this name and kind, and, where they are given, allocated or
    declared in this function, file and line: as in a trace's table `structures`. `nodes` are the
    kernel's numbers. `weights` belong to weighted-interleave, one per node. `parts` are fence
    posts, fractions of the instance's bytes from 0 to 1, rising: between posts k and k + 1 pages
    lie on `nodes[k]`, so that a rule applies to an instance of any size. When a node is full,
    pages spill to others by the kernel's order, except with `bind`. `bytes` says how large it was
    when it was recorded (0: unknown), and changes nothing.
    """

    name: str
    policy: Policy
    kind: str = ""
    function: str = ""
    file: str = ""
    line: int = 0
    nodes: tuple[int, ...] = ()
    weights: tuple[int, ...] = ()
    parts: tuple[float, ...] = ()
    bytes: int = 0


@dataclass(frozen=True)
class Plan:
    """Threads' CPUs, structures' nodes, and variables of the environment to set.

    `recorded_threads` is the number of threads of the run that the plan was made from: with
    another number T, thread i takes the place of thread i * recorded_threads // T. 0: as they are.
    """

    threads: tuple[ThreadRule, ...] = ()
    structures: tuple[StructureRule, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    program: str = ""
    machine: str = ""
    recorded_threads: int = 0
