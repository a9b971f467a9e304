# SPDX-License-Identifier: Apache-2.0
"""Reduces the parts of a job in a tree, through any `concurrent.futures.Executor`.

Every engine gives the same result: the tasks are the same, and merging is associative and
commutative.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from numascape.errors import NumascapeError
from numascape.jobs.stored_sums import read_stored
from numascape.jobs.tables import JobTables, merge
from numascape.jobs.task import Task

FAN_IN = 16
"""The number of parts of a task, and of results that one merge joins. A merge copies each of its
rows once. So with n parts, each row is copied log(n) times; the logarithm has this base."""
_FEW = 8
"""With so few parts, starting processes takes longer than the work."""
_MAX_ATTEMPTS = 3

Engine = Callable[[], Executor]
_T = TypeVar("_T")


def reduce_in_tree(
    tasks: Sequence[Task], start: Engine | None, done: Callable[[int], None] = lambda _: None
) -> JobTables:
    """The merged tables of all tasks. If `start` is None, this process does the work.

    `done` is called with the number of finished parts. If workers are killed, a new engine does
    their tasks again, at last one by one; a part that kills its worker again is left out.
    """
    if start is None:
        return _here(tasks, done)
    groups = [tuple(tasks[i : i + FAN_IN]) for i in range(0, len(tasks), FAN_IN)]
    results: list[JobTables] = []
    for attempt in range(_MAX_ATTEMPTS):
        finished, groups = _submit(start, groups, done)
        results += finished
        if not groups:
            break
        if attempt == _MAX_ATTEMPTS - 2:
            groups = [(task,) for group in groups for task in group]
    results += [
        task.left_out("its analysis was killed, probably because memory was short")
        for group in groups
        for task in group
    ]
    return merge_in_tree(results)


def merge_in_tree(results: Sequence[JobTables]) -> JobTables:
    """Merge the results, FAN_IN at a time."""
    level = list(results)
    while len(level) > 1:
        level = [merge(level[i : i + FAN_IN]) for i in range(0, len(level), FAN_IN)]
    return merge(level)


def _here(tasks: Sequence[Task], done: Callable[[int], None]) -> JobTables:
    results = []
    for task in tasks:
        results.append(task())
        done(1)
    return merge_in_tree(results)


def run_group(group: tuple[Task, ...]) -> JobTables:
    """The merged tables of a few tasks; this is what a worker runs."""
    stored, others = read_stored(group)
    return merge([stored, *(task() for task in others)])


def _submit(
    start: Engine, groups: list[tuple[Task, ...]], done: Callable[[int], None]
) -> tuple[list[JobTables], list[tuple[Task, ...]]]:
    """The results, and the groups whose workers were killed."""
    results, killed = [], []
    # Single tasks each get an engine of their own: a killed worker ends the others' tasks, too.
    batches = [groups] if len(groups[0]) > 1 or len(groups) == 1 else [[one] for one in groups]
    for batch in batches:
        with start() as engine:
            pending = {future: group for group in batch if (future := _try(engine, group))}
            killed += [group for group in batch if group not in pending.values()]
            for future in _completed(pending):
                made = _result(future)
                if made is None:
                    killed.append(pending[future])
                else:
                    results.append(made)
                    done(len(pending[future]))
    return results, killed


def _try(engine: Executor, group: tuple[Task, ...]) -> Future[JobTables] | None:
    """Begin the tasks; None if the workers were killed."""
    try:
        return engine.submit(run_group, group)
    except BrokenExecutor:
        return None


def _result(future: Future[JobTables]) -> JobTables | None:
    """The result of a task; None if its worker was killed."""
    try:
        return future.result()
    except BrokenExecutor:
        return None


def _completed(pending: dict[Future[_T], tuple[Task, ...]]) -> Iterator[Future[_T]]:
    """The futures in order of completion; in any order for Dask, which has a class of its own."""
    if all(isinstance(future, Future) for future in pending):
        yield from as_completed(pending)
    else:
        yield from pending


def local_engine(parts: int) -> Engine | None:
    """One process for each CPU that this process may use; None if there is little to do."""
    workers = min(len(os.sched_getaffinity(0)), -(-parts // FAN_IN))
    if parts <= _FEW or workers < 2:
        return None
    return process_engine(workers)


def process_engine(workers: int) -> Engine:
    """An engine with this number of processes on this machine."""
    return lambda: _Processes(workers)


class _Processes(ProcessPoolExecutor):
    """Processes that each use one thread, because there is a process for every CPU."""

    def __init__(self, workers: int) -> None:
        # Polars has threads, which do not survive a fork.
        super().__init__(workers, multiprocessing.get_context("spawn"))

    def submit(self, *arguments, **named):  # type: ignore[no-untyped-def]
        """Submit a task. Workers that are started for it use one thread each."""
        with _one_thread():
            return super().submit(*arguments, **named)


@contextmanager
def _one_thread() -> Iterator[None]:
    name = "POLARS_MAX_THREADS"
    former = os.environ.get(name)
    os.environ[name] = former or "1"
    try:
        yield
    finally:
        if former is None:
            del os.environ[name]


def dask_engine(scheduler: str) -> Engine:
    """The workers of a Dask scheduler; NumascapeError if it cannot be reached.

    `scheduler` is its address, or the file with its address, which ends in .json.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise NumascapeError(
            "--dask needs the package distributed: pip install 'numascape[dask]'"
        ) from error
    in_file = scheduler.endswith(".json")
    if in_file and not Path(scheduler).is_file():
        raise NumascapeError(
            f"{scheduler} does not exist: start `dask scheduler --scheduler-file {scheduler}`"
        )
    place = {"scheduler_file" if in_file else "address": scheduler}
    try:
        client = Client(**place, timeout="5s", set_as_default=False)  # type: ignore[no-untyped-call]
        client.wait_for_workers(1, timeout=30)
    except (OSError, TimeoutError, ValueError) as error:
        raise NumascapeError(
            f"no Dask scheduler with workers answers at {scheduler}: start them with "
            "`dask scheduler` and `dask worker ADDRESS`"
        ) from error
    return client.get_executor


def mpi_engine() -> Engine:
    """The other ranks of `mpirun -n N python -m mpi4py.futures -m numascape`."""
    try:
        from mpi4py.futures import MPIPoolExecutor
    except ImportError as error:
        raise NumascapeError(
            "--mpi needs the package mpi4py: pip install 'numascape[mpi]'"
        ) from error
    return MPIPoolExecutor
