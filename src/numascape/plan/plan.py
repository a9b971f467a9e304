# SPDX-License-Identifier: Apache-2.0
"""A plan as plain data. docs/plan.md has the meaning of each rule and the file's schema."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

LONGEST_TEXT: Final = 4096
"""Maximum number of characters of a name in a plan."""

RulePolicy = Literal[
    "first-touch", "interleave", "weighted-interleave", "bind", "preferred", "parts"
]


@dataclass(frozen=True)
class ThreadRule:
    """The CPUs of some threads; if several rules select a thread, the first one counts.

    Exactly one of `order` (numbers in order of creation, 0 = main, as in a trace), `openmp`
    (numbers in an OpenMP team) and `name` (a glob over the thread's name) selects the threads;
    `order` and `openmp` are lists such as `0-15,20`. The k-th thread runs on the k-th of `cpus`;
    after the last CPU, the first one follows. With `together`, each thread may run on all of
    `cpus`.
    """

    cpus: tuple[int, ...]
    order: str = ""
    openmp: str = ""
    name: str = ""
    together: bool = False


@dataclass(frozen=True)
class StructureRule:
    """The nodes of a structure's pages.

    It applies to structures with this name and kind that were, if given, allocated or declared in
    this function, file and line, as in a trace's table `structures`. `nodes` are the kernel's
    numbers. `weights` is for weighted-interleave, one per node. `parts` are rising boundaries from
    0 to 1, as fractions of the instance's bytes, so that a rule applies to an instance of any size:
    pages between boundaries k and k + 1 are on `nodes[k]`. If a node is full, pages spill to others
    in the kernel's order, except with `bind`. `bytes` is the recorded size (0: unknown), which has
    no effect.
    """

    name: str
    policy: RulePolicy
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
    """The CPUs of threads, the nodes of structures, and environment variables to set.

    `recorded_threads` is the number of threads of the recorded run. With another number T, thread i
    takes the place of thread i * recorded_threads // T. 0: threads keep their numbers.
    """

    threads: tuple[ThreadRule, ...] = ()
    structures: tuple[StructureRule, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    program: str = ""
    machine: str = ""
    recorded_threads: int = 0

    def __repr__(self) -> str:
        """One line: the program, the machine, and the number of rules."""
        where = f" on {self.machine}" if self.machine else ""
        rules = f"{len(self.threads)} rules for threads, {len(self.structures)} for structures"
        return f"<plan for {self.program or 'any program'}{where}: {rules}>"

    @property
    def says_nothing(self) -> bool:
        """Whether the plan has no effect."""
        return not (self.threads or self.structures or self.environment)
