# SPDX-License-Identifier: Apache-2.0
"""Finds the calls that led to samples and to first touches: `call_paths` and `path_accesses`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import polars as pl

from numascape._native import shard as native
from numascape.conversion.module_pages import module_name
from numascape.conversion.shard_groups import ShardGroup
from numascape.conversion.transfers import placed
from numascape.naming.frames import CallFrame
from numascape.trace.schema import SCHEMAS

CallsAt = Callable[[int], Sequence[CallFrame]]
"""The functions that are active at a code address, innermost first."""

NO_CALLER: Final = -1
"""The caller of a function that begins the program, or a thread."""

_IN_KERNEL: Final = 0  # as a code address
_KERNEL: Final = "the kernel, in a system call"

_SCHEMA: Final = SCHEMAS["path_accesses"]
_KEY: Final = [name for name in _SCHEMA.names() if name not in ("reads", "writes")]


class CallPaths:
    """The call paths of a run, as a tree: each row is a function, and names its caller's row."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, str, str, int, str], int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, caller: int, frame: CallFrame) -> int:
        """The row of this function, called by the row `caller`."""
        # A function without a name has its address as its name, which differs from run to run.
        function = "" if frame.function.startswith("0x") else frame.function
        module = module_name(frame.module)
        return self._row(caller, _valid(function), _valid(frame.file), frame.line, _valid(module))

    def unknown(self) -> int:
        """The row that stands for unknown callers."""
        return self._row(NO_CALLER, "", "", 0, "")

    def kernel(self, caller: int) -> int:
        """The row of the kernel, which `caller` called."""
        return self._row(caller, _KERNEL, "", 0, "")

    def inside(self, caller: int, frames: Sequence[CallFrame]) -> int:
        """The row of the innermost of the functions, the outermost of which `caller` called."""
        for frame in reversed(frames):
            caller = self.number(caller, frame)
        return caller

    def table(self) -> pl.DataFrame:
        """The table `call_paths`: a caller is always in an earlier row."""
        rows = [(number, *row) for row, number in self._numbers.items()]
        return pl.DataFrame(rows, schema=SCHEMAS["call_paths"], orient="row")

    def _row(self, caller: int, function: str, file: str, line: int, module: str) -> int:
        return self._numbers.setdefault((caller, function, file, line, module), len(self))


def path_access_table(
    group: ShardGroup,
    owners: pl.DataFrame,
    module_pages: tuple[pl.DataFrame, pl.DataFrame],
    ranks: pl.DataFrame,
    calls_at: CallsAt,
    paths: CallPaths,
) -> pl.DataFrame:
    """The table of a group's processes; `owners` and others are those of transfer_table."""
    rows = group.sampled_paths
    if rows.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    calls = {number: (callers, pc) for number, callers, pc in group.calls.iter_rows()}
    distinct = rows.select("callers", "pc").unique(maintain_order=True)
    found = _Resolved(calls, calls_at, paths)
    numbers = [found.path_of(callers, pc) for callers, pc in distinct.iter_rows()]
    known = distinct.with_columns(path=pl.Series(numbers, dtype=pl.UInt32))
    named = rows.join(known, on=["callers", "pc"], maintain_order="left").drop("callers", "pc")
    writes = pl.col("writes").cast(pl.UInt64)
    counted = named.with_columns(reads=1 - writes, writes=writes)
    return sum_path_accesses([placed(group, counted, owners, module_pages, ranks)])


def with_paths(
    touches: pl.DataFrame, group: ShardGroup, calls_at: CallsAt, paths: CallPaths
) -> pl.DataFrame:
    """The first touches of a group's processes, with the row `path` of `call_paths`.

    They have the columns `pc` and `callers`. If the recorder knew no callers, `path` is null.
    """
    distinct = touches.select("callers", "pc").unique(maintain_order=True)
    if not (distinct["callers"] != 0).any():
        return touches.with_columns(path=pl.lit(None, dtype=pl.UInt32()))
    found = _TouchPaths(group, calls_at, paths)
    numbers = [found.path_of(callers, pc) for callers, pc in distinct.iter_rows()]
    known = distinct.with_columns(path=pl.Series(numbers, dtype=pl.UInt32()))
    return touches.join(known, on=["callers", "pc"], maintain_order="left")


def with_all_paths(first_touch: pl.DataFrame, paths: CallPaths) -> pl.DataFrame:
    """The table `first_touch` of all processes: every row has a path, or there are none."""
    if first_touch["path"].null_count() == first_touch.height:
        return first_touch.drop("path")
    return first_touch.with_columns(pl.col("path").fill_null(paths.unknown()))


def sum_path_accesses(tables: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Join tables `path_accesses`; each page, thread, phase and path is there once."""
    return (
        pl.concat(table.select(_SCHEMA.names()) for table in tables)
        .group_by(_KEY)
        .agg(pl.col("reads", "writes").sum())
        .cast(_SCHEMA)
        .sort(_KEY)
    )


class _TouchPaths:
    """The paths of first touches; each call is looked up once after the same callers."""

    def __init__(self, group: ShardGroup, calls_at: CallsAt, paths: CallPaths) -> None:
        self._callers = {
            number: calls
            for member in group.members
            for number, calls in member.shard.touch_callers.items()
        }
        self._calls_at = calls_at
        self._paths = paths
        self._known: dict[tuple[int, int], int] = {}

    def path_of(self, callers: int, pc: int) -> int:
        """The path of the code at `pc`, which these callers led to."""
        addresses, complete = self._callers.get(callers, ([], False))
        path = NO_CALLER if complete else self._paths.unknown()
        for address in reversed(addresses):
            path = self._inside(path, address - 1)  # the call, not what follows it
        return self._paths.kernel(path) if pc == _IN_KERNEL else self._inside(path, pc)

    def _inside(self, caller: int, address: int) -> int:
        key = (caller, address)
        if key not in self._known:
            self._known[key] = self._paths.inside(caller, self._calls_at(address))
        return self._known[key]


class _Resolved:
    """The paths of the calls that the recorder numbered; each call is looked up once."""

    def __init__(
        self, calls: Mapping[int, tuple[int, int]], calls_at: CallsAt, paths: CallPaths
    ) -> None:
        self._calls = calls
        self._calls_at = calls_at
        self._paths = paths
        self._known: dict[int, int] = {native.NO_CALLERS: NO_CALLER}

    def path_of(self, callers: int, pc: int) -> int:
        """The path of the code at `pc`, which the call `callers` led to."""
        caller = self._path_of_call(callers)
        if pc == _IN_KERNEL:
            return self._paths.kernel(caller)
        return self._paths.inside(caller, self._calls_at(pc))

    def _path_of_call(self, call: int) -> int:
        chain = []
        while call not in self._known and call in self._calls:
            chain.append(call)
            call = self._calls[call][0]
        path = self._known.get(call)
        if path is None:  # unknown callers, or a call that is missing in a damaged log
            path = self._known[call] = self._paths.unknown()
        for inner in reversed(chain):
            _, pc = self._calls[inner]
            path = self._known[inner] = self._paths.inside(path, self._calls_at(pc))
        return path


def _valid(text: str) -> str:
    return text.encode(errors="surrogateescape").decode(errors="replace")
