# SPDX-License-Identifier: Apache-2.0
"""Converts shards to a trace: names owners, divides pages, joins processes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import polars as pl

from numascape.conversion import kernel_accesses, seen_lines, transfers
from numascape.conversion.bursts import counted_work, estimated, run_times, tables_of_bursts
from numascape.conversion.call_paths import CallPaths, sum_path_accesses, with_all_paths
from numascape.conversion.inherited_memory import join_inherited
from numascape.conversion.names import CallStack, Names
from numascape.conversion.parts import ProcessTables, convert_group
from numascape.conversion.phases import RunPhases, run_phases
from numascape.conversion.places import PLACE, on_known_pages, sort_by
from numascape.conversion.shard_groups import (
    UNKNOWN_THREAD,
    Member,
    ShardGroup,
    parents_of,
    shard_groups,
)
from numascape.conversion.shards import Shard, read_shards
from numascape.conversion.shared_memory import join_shared
from numascape.conversion.source_lines import joined_lines, merged
from numascape.conversion.structures import StructureTable
from numascape.conversion.symbol_cache import limited, symbol_cache
from numascape.conversion.threads import thread_table
from numascape.conversion.unseen import not_seen
from numascape.errors import NumascapeError
from numascape.installation import installed_version
from numascape.recording.program import started_as
from numascape.trace.counting import count_moments, counts_of_faults
from numascape.trace.format import PAGE_BYTES
from numascape.trace.info import Counts, JobPart, Process, Recorder, Totals, TraceInfo
from numascape.trace.schema import OPTIONAL_COLUMNS, SCHEMAS

if TYPE_CHECKING:
    from numascape.recording.session import Session


@dataclass(frozen=True)
class Converted:
    """A trace that is not written yet."""

    tables: dict[str, pl.DataFrame]
    info: TraceInfo


def convert(session: Session) -> Converted:
    """The trace of a session's shards. Raises NumascapeError if there are none to convert."""
    paths = session.shards()
    if not paths:
        raise NumascapeError(f"{session.folder} has no shards: nothing was recorded")
    cache = symbol_cache()
    shards = [_estimated(shard, session) for shard in read_shards(paths, cache)]
    begin = min(shard.header["start_ns"] for shard in shards)
    firsts = accumulate((len(shard.threads) for shard in shards), initial=0)
    members = [
        Member(process, first, shard)
        for process, (first, shard) in enumerate(zip(firsts, shards, strict=False))
    ]
    table, calls = StructureTable(), CallPaths()
    parts: list[ProcessTables] = []
    with limited(cache):
        for alike in shard_groups(members, begin):
            names = Names([member.shard for group in alike for member in group.members], cache)
            parts += [_convert_group(group, names, table, calls, session) for group in alike]
    return _assemble(parts, table, calls, members, session, begin)


# The errors that a damaged or forged shard can cause.
_DAMAGE = (pl.exceptions.PolarsError, ArithmeticError, LookupError, ValueError)


def _damaged(shard: Shard, error: Exception) -> NumascapeError:
    first_line = (str(error).splitlines() or [type(error).__name__])[0]
    return NumascapeError(f"{shard.path} is damaged: {first_line}")


def _estimated(shard: Shard, session: Session) -> Shard:
    try:
        return estimated(shard, session.options.sample)
    except _DAMAGE as error:
        raise _damaged(shard, error) from error


def _convert_group(
    group: ShardGroup, names: Names, table: StructureTable, paths: CallPaths, session: Session
) -> ProcessTables:
    try:
        return convert_group(group, names, table, paths, session)
    except _DAMAGE as error:
        damaged = next(
            (one for one in group.members if _is_damaged(one, group, names, session)),
            group.members[0],
        ).shard
        raise _damaged(damaged, error) from error


def _is_damaged(member: Member, group: ShardGroup, names: Names, session: Session) -> bool:
    try:
        alone = ShardGroup((member,), group.begin)
        convert_group(alone, names, StructureTable(), CallPaths(), session)
    except _DAMAGE:
        return True
    return False


def _assemble(
    parts: list[ProcessTables],
    table: StructureTable,
    paths: CallPaths,
    members: list[Member],
    session: Session,
    begin: int,
) -> Converted:
    shards = [member.shard for member in members]
    end = max(shard.nanoseconds(shard.header["last_ticks"], begin) for shard in shards)
    by_process = {process: own for part in parts for process, own in part.phases.items()}
    phases = run_phases([by_process[process] for process in range(len(shards))], end)
    process_of = pl.Series([known.process for known in table.structures], dtype=pl.UInt32())

    def with_phases(rows: pl.DataFrame, part: ProcessTables) -> pl.DataFrame:
        if len(part.processes) == 1:
            return phases.renumbered(rows, part.processes[0])
        return phases.renumbered_of(rows, process_of.gather(rows["structure"]))

    accesses = pl.concat(with_phases(part.accesses, part) for part in parts)
    structures, numbers = _structures(table, parts, _used(accesses, parts, session))

    def renumbered(rows: pl.DataFrame) -> pl.DataFrame:
        new = numbers.gather(rows["structure"]).alias("structure")
        return rows.with_columns(new).filter(pl.col("structure").is_not_null())

    def joined(of: Callable[[ProcessTables], pl.DataFrame]) -> Iterator[pl.DataFrame]:
        return (renumbered(with_phases(of(part), part)) for part in parts)

    counts = _counts(session, shards)
    accesses = renumbered(accesses.clear() if counts == "first touches" else accesses)
    # Each process is in one part. So a line has two rows only if phases were joined.
    join = merged if any(phases.numbers) else joined_lines
    lines = join(joined(lambda part: part.lines))
    first_touch = with_all_paths(pl.concat(joined(lambda part: part.first_touch)), paths)
    first_touch = first_touch.sort("time_ns", maintain_order=True).with_columns(
        order=pl.int_range(pl.len(), dtype=pl.UInt64())
    )
    placement = renumbered(pl.concat(part.placement for part in parts))
    tables = {
        "structures": structures,
        "accesses": sort_by(accesses, [*PLACE, "thread", "phase"]),
        "first_touch": first_touch,
        "threads": thread_table(members, begin, session),
        "placement": sort_by(placement.cast({"node": pl.Int32()}), PLACE),
        "source_lines": lines.clear() if counts == "first touches" else lines,
        "phases": phases.phases,
        "phase_spans": phases.spans,
        **_instances(parts, renumbered),
        "kernel_accesses": kernel_accesses.sum_kernel_accesses(
            joined(lambda part: part.kernel_accesses)
        ),
        "instructions": _instructions(members, phases),
        "seen_lines": seen_lines.sum_seen_lines(joined(lambda part: part.seen_lines)),
    }
    tables |= tables_of_bursts(pl.concat(joined(lambda part: part.bursts)), tables)
    if paths:
        tables["call_paths"] = paths.table()
    if any(part.path_accesses.height for part in parts):
        tables["path_accesses"] = sum_path_accesses(joined(lambda part: part.path_accesses))
    if session.options.traffic:
        tables["transfers"] = transfers.sum_transfers(joined(lambda part: part.transfers))
    tables |= on_known_pages(tables, "seen_lines", "page_bursts", "transfers")
    tables = _joined(tables, members, counts)
    return Converted(tables, _info(tables, shards, session, counts, begin))


def _joined(
    tables: dict[str, pl.DataFrame], members: list[Member], counts: Counts
) -> dict[str, pl.DataFrame]:
    """The tables, in which memory that processes share, or inherit, is one structure."""
    tables = join_shared({name: _in_order(name, frame) for name, frame in tables.items()})
    return join_inherited(tables, parents_of(members)) if counts == "accesses" else tables


def _in_order(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The columns of a trace's table in the order of its schema, then the optional ones."""
    optional = (column for column in OPTIONAL_COLUMNS.get(name, ()) if column in frame.columns)
    return frame.select(*SCHEMAS[name].names(), *optional)


def _instructions(members: list[Member], phases: RunPhases) -> pl.DataFrame:
    """How many instructions each thread executed in each phase."""
    rows = pl.concat(
        phases.renumbered(
            member.shard.tables["instructions"].with_columns(thread=member.threads("thread")),
            member.process,
        )
        for member in members
    )
    known = rows.filter(pl.col("thread") != UNKNOWN_THREAD)
    keys = ["thread", "phase"]
    return known.group_by(keys).agg(pl.col("instructions").sum()).sort(keys)


def _instances(
    parts: list[ProcessTables], renumbered: Callable[[pl.DataFrame], pl.DataFrame]
) -> dict[str, pl.DataFrame]:
    """The instances with one known address, and the advice about huge pages for them."""
    every = renumbered(pl.concat(part.extents for part in parts))
    known = every.filter(pl.col("address").is_not_null())
    known = known.unique(["structure", "instance"], keep="none").sort("structure", "instance")
    return {"instances": known, "huge_page_advice": known.filter(pl.col("huge").is_not_null())}


def _used(accesses: pl.DataFrame, parts: list[ProcessTables], session: Session) -> pl.DataFrame:
    """The structures and pages that are in the trace.

    If accesses were sampled, the trace also has all structures with first touches, because samples
    miss most accesses.
    """
    rows = [accesses.select("structure", "page")]
    if session.recorder in {"faults", "samples"}:
        rows += [part.first_touch.select("structure", "page") for part in parts]
    return pl.concat(rows)


def _structures(
    table: StructureTable, parts: list[ProcessTables], used_pages: pl.DataFrame
) -> tuple[pl.DataFrame, pl.Series]:
    """The table of used structures, and the new id by the old one, null if unused."""
    extents = pl.concat([part.extents for part in parts])
    used = used_pages.group_by("structure").agg(seen=pl.col("page").max() + 1)
    # A page may be touched by the kernel only, whose accesses the recorder does not count.
    touched = (
        pl.concat(
            frame.select("structure", "page")
            for part in parts
            for frame in (part.first_touch, part.placement)
        )
        .group_by("structure")
        .agg(touched=pl.col("page").max() + 1)
    )
    whole = pl.col("pages").cast(pl.UInt64) * PAGE_BYTES
    summed = (
        extents.group_by("structure")
        .agg(pl.col("size").max(), pl.col("pages").max(), instances=pl.col("instance").max() + 1)
        .join(used, on="structure", how="inner")
        .join(touched, on="structure", how="left")
        .with_columns(pages=pl.max_horizontal("pages", "seen", "touched"))
        # Memory without an owner has no size; the size of its pages is used.
        .with_columns(size=pl.when(pl.col("size") == 0).then(whole).otherwise("size"))
        # Processes are in the order of their start, their structures in the order of discovery.
        .with_columns(process=pl.col("structure").replace_strict(_processes(table)))
        .sort("process", "structure")
    )
    rows = [table.structures[number] for number in summed["structure"]]
    structures = pl.DataFrame(
        {
            "structure": range(len(rows)),
            "process": [s.process for s in rows],
            "name": [_valid(s.name) for s in rows],
            "kind": [s.kind for s in rows],
            "size": summed["size"],
            "pages": summed["pages"],
            "instances": summed["instances"],
            "module": [_valid(s.module) for s in rows],
            "function": [_valid(s.function) for s in rows],
            "file": [_valid(s.file) for s in rows],
            "line": [s.line for s in rows],
            "call_stack": [_words(s.call_stack) for s in rows],
            "named": [s.named for s in rows],
            "shared": [s.shared for s in rows],
        },
        schema={**SCHEMAS["structures"], **OPTIONAL_COLUMNS["structures"]},
    )
    numbers: list[int | None] = [None] * len(table.structures)
    for new, old in enumerate(summed["structure"]):
        numbers[old] = new
    return structures, pl.Series(numbers, dtype=pl.UInt32())


def _words(stack: CallStack | None) -> list[str]:
    return [] if stack is None else [_valid(word) for word in stack.words()]


def _processes(table: StructureTable) -> dict[int, int]:
    return {number: known.process for number, known in enumerate(table.structures)}


def _valid(text: str) -> str:
    """Make text valid: file names may be any bytes, but tables contain only text."""
    return text.encode(errors="surrogateescape").decode(errors="replace")


def _count_pages(accesses: pl.DataFrame, first_touch: pl.DataFrame) -> int:
    """The number of distinct places that were accessed or touched first.

    Accesses are sorted by place, so a new place begins where the place changes.
    """
    changes = [pl.col(name) != pl.col(name).shift(1) for name in PLACE]
    accessed = accesses.select(PLACE).filter(pl.any_horizontal(changes).fill_null(value=True))
    return pl.concat([accessed, first_touch.select(PLACE)]).n_unique()


def _end_not_seen(session: Session) -> list[str]:
    if session.ended is not None:
        return []
    return ["The end of the program is unknown: Numascape ended first, or could not record it."]


def _counts(session: Session, shards: list[Shard]) -> Counts:
    if session.recorder == "samples":
        return "samples"
    if session.recorder != "faults":
        return "accesses"
    return counts_of_faults(sum(len(shard.hinting) for shard in shards))


def _moments(shards: list[Shard]) -> int:
    times = [
        (shard.hinting - shard.header["start_ticks"]).cast(pl.Float64()) * shard.ns_per_tick
        for shard in shards
    ]
    return count_moments(pl.concat(times))


def _counted_totals(shards: list[Shard], counts: Counts) -> tuple[int | None, int | None]:
    """Reads and writes in the recorder's counters; None if only page faults were recorded."""
    if counts != "accesses":
        return None, None
    return sum(shard.counted[0] for shard in shards), sum(shard.counted[1] for shard in shards)


def _part(session: Session, begin: int) -> JobPart | None:
    """The place in the job, with the time at which the run began."""
    return session.part and dataclasses.replace(session.part, clock_ns=begin)


def _info(
    tables: dict[str, pl.DataFrame],
    shards: list[Shard],
    session: Session,
    counts: Counts,
    begin: int,
) -> TraceInfo:
    touched = tables["first_touch"].with_columns(
        reads=pl.lit(0, dtype=pl.UInt64), writes=pl.lit(1, dtype=pl.UInt64)
    )
    accesses = tables["accesses"] if counts != "first touches" else sort_by(touched, PLACE)
    by_structure = accesses.group_by("structure").agg(pl.col("reads").sum(), pl.col("writes").sum())
    named = by_structure.join(
        tables["structures"].filter("named").select("structure"), on="structure", how="semi"
    )
    recorded = tables["accesses"]
    reads, writes = int(by_structure["reads"].sum()), int(by_structure["writes"].sum())
    every = reads + writes
    share = (int(named["reads"].sum()) + int(named["writes"].sum())) / every if every else 0.0
    ended = session.ended
    return TraceInfo(
        program=_valid(started_as(shards[0].program, session.program[0])),
        arguments=tuple(_valid(word) for word in session.program[1:]),
        recorder=Recorder(
            session.recorder,
            installed_version(),
            session.options.document(),
            counts,
            _moments(shards) if session.recorder != "samples" else 0,
            counted_work=counted_work(shards),
        ),
        host=session.host,
        machine=session.machine,
        page_size=PAGE_BYTES,
        started=session.started,
        times=run_times(session.ended, shards),
        exit_status=ended.exit_status if ended else None,
        processes=tuple(
            Process(number, shard.header["pid"], _valid(shard.program))
            for number, shard in enumerate(shards)
        ),
        totals=Totals(
            int(recorded["reads"].sum()),
            int(recorded["writes"].sum()),
            _count_pages(accesses, tables["first_touch"]),
            tables["threads"].height,
            *_counted_totals(shards, counts),
        ),
        attributed_share=share,
        unseen=(
            *_end_not_seen(session),
            *not_seen(shards, every, session.recorder, session.options.event),
        ),
        part=_part(session, begin),
    )
