# SPDX-License-Identifier: Apache-2.0
"""The work of a move: which pages and threads of a process go to which nodes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from numascape.errors import NumascapeError
from numascape.live.affinity import ThreadMove, by_plan, by_policy
from numascape.live.mappings import Mapping, read_mappings
from numascape.live.page_sets import PagesToMove, as_now, find_pages
from numascape.live.parts import Namer
from numascape.live.policies import check_nodes, parse_policy
from numascape.live.room import usable_nodes
from numascape.live.selection import (
    Selection,
    select_all,
    select_file,
    select_planned,
    select_structures,
)
from numascape.live.targets import TargetProcess
from numascape.live.threads import Thread, read_threads
from numascape.live.undo import MappedFile, Undo, still_there
from numascape.machine.kernel_files import node_cpus
from numascape.plan.plan import Plan


@dataclass(frozen=True)
class Scope:
    """The part of a process to move: structures by name, or a file (its `tensors`), or all."""

    structures: tuple[str, ...] = ()
    file: Path | None = None
    tensors: str | None = None
    threads: bool = False


@dataclass(frozen=True)
class Move:
    """The pages and threads to move. `unmet` are rules of a plan that fit nothing here.

    `binds_all`: `threads` has all threads that the process had.
    `file`: the pages are those of a file's page cache, which this process maps for the move.
    `shared`: pages that other processes map are to be moved, too.
    `owner`: the pages are a whole segment of that process' shared memory, mapped in the same way.
    `mapped`: the files that this process maps for these two.
    """

    target: TargetProcess
    pages: PagesToMove
    threads: tuple[ThreadMove, ...]
    unmet: tuple[str, ...] = ()
    file: Path | None = None
    owner: TargetProcess | None = None
    binds_all: bool = False
    shared: bool = False
    mapped: tuple[MappedFile, ...] = ()

    @property
    def subject(self) -> str:
        """A text for what is moved."""
        if self.owner is not None:
            return f"shared memory of {self.owner}"
        return str(self.target) if self.file is None else f"page cache of {self.file}"


def move_by_policy(target: TargetProcess, text: str, scope: Scope) -> Move:
    """A move to the nodes of a policy such as `interleave` or `bind:1`. Raises NumascapeError."""
    mappings, threads = _mappings_and_threads(target)
    usable = usable_nodes(target)
    with_threads = sorted({one.node for one in threads} & set(usable))
    policy = parse_policy(text, usual_nodes(target, usable), with_threads)
    check_nodes(policy.nodes, usable)
    parts = Namer(target).parts(mappings, threads)
    if scope.structures:
        selection = select_structures(parts, scope.structures, policy)
    elif scope.file is not None:
        selection = select_file(parts, mappings, scope.file, scope.tensors, policy)
    else:
        selection = select_all(parts, mappings, policy)
    moved = by_policy(threads, policy, node_cpus(target.root)) if scope.threads else []
    move = _move(target, mappings, selection, moved)
    return replace(move, binds_all=scope.threads)


def usual_nodes(target: TargetProcess, usable: list[int]) -> list[int]:
    """The nodes of a policy that names none: those with CPUs, because other memory is slower."""
    cpus = node_cpus(target.root)
    return [node for node in usable if cpus.get(node)] or usable


def move_by_plan(target: TargetProcess, plan: Plan, threads_too: bool) -> Move:
    """A move to what a plan says. Raises NumascapeError."""
    mappings, threads = _mappings_and_threads(target)
    usable = usable_nodes(target)
    selection = select_planned(Namer(target).parts(mappings, threads), plan)
    for _, policy in selection.chosen:
        check_nodes(policy.nodes, usable)
    moved, unmet = by_plan(threads, plan) if threads_too else ([], [])
    move = _move(target, mappings, selection, moved)
    return replace(move, unmet=(*move.unmet, *unmet))


def move_back(undo: Undo) -> Move:
    """The move that puts pages and threads of a process back. Raises NumascapeError."""
    assert undo.target is not None
    mappings = read_mappings(undo.target, with_policies=False)
    sets = as_now(undo.target, still_there(undo.sets, mappings))
    return Move(undo.target, PagesToMove(tuple(sets), 0), undo.threads, shared=undo.shared)


def _mappings_and_threads(target: TargetProcess) -> tuple[list[Mapping], list[Thread]]:
    mappings = read_mappings(target)
    if not mappings:
        raise NumascapeError(f"{target} has no memory of its own")
    return mappings, read_threads(target)


def _move(
    target: TargetProcess, mappings: list[Mapping], selection: Selection, threads: list[ThreadMove]
) -> Move:
    pages = find_pages(target, mappings, selection.chosen)
    return Move(target, pages, tuple(threads), selection.unmet)
