# SPDX-License-Identifier: Apache-2.0
"""Shards become a trace: owners are named, pages divided, processes put side by side."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

import numascape
from numascape.errors import NumascapeError
from numascape.machine.description import cpu_nodes
from numascape.trace.counting import count_moments, counts_of_faults
from numascape.trace.info import Counts, Process, Recorder, Times, Totals, TraceInfo
from numascape.trace.lines import Sites, count_lines, merged, structures_of_samples
from numascape.trace.module_pages import divide
from numascape.trace.phases import ProcessPhases, process_phases, run_phases
from numascape.trace.places import PLACE, last_of_each, sort_by, sum_of_each
from numascape.trace.schema import OPTIONAL_COLUMNS, SCHEMAS
from numascape.trace.shards import LATEST_NS, MODULE, SMALL, UNKNOWN, Shard, read_shards
from numascape.trace.structures import (
    ProcessNames,
    StructureTable,
    module_structures,
    owner_structures,
)
from numascape.trace.unseen import not_seen

if TYPE_CHECKING:
    from numascape.recorders.session import Session

PAGE_SIZE = 4096


@dataclass(frozen=True)
class Converted:
    """A trace that is not written yet."""

    tables: dict[str, pl.DataFrame]
    info: TraceInfo


@dataclass(frozen=True)
class _Part:
    """One process's share of the tables; `extents` (structure, instance, address, size, pages)."""

    accesses: pl.DataFrame
    first_touch: pl.DataFrame
    placement: pl.DataFrame
    threads: pl.DataFrame
    lines: pl.DataFrame
    extents: pl.DataFrame
    phases: ProcessPhases


def convert(session: Session) -> Converted:
    """The trace of a session's shards. Raises NumascapeError when there is none to convert."""
    paths = session.shards()
    if not paths:
        raise NumascapeError(f"{session.folder} holds no shards: nothing was recorded")
    shards = read_shards(paths)
    begin = min(shard.header["start_ns"] for shard in shards)
    table = StructureTable()
    parts: list[_Part] = []
    first_thread = 0
    for process, shard in enumerate(shards):
        try:
            parts.append(_convert_shard(shard, process, first_thread, begin, table, session))
        except _DAMAGE as error:
            raise NumascapeError(f"{shard.path} is damaged: {_first_line(error)}") from error
        first_thread += len(shard.threads)
    return _assemble(parts, table, shards, session, begin)


# What numbers that no recorder writes end in; a shard may come from anybody.
_DAMAGE = (pl.exceptions.PolarsError, ArithmeticError, LookupError, ValueError)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _convert_shard(
    shard: Shard,
    process: int,
    first_thread: int,
    begin: int,
    table: StructureTable,
    session: Session,
) -> _Part:
    names = ProcessNames(shard)
    owners = owner_structures(shard, process, first_thread, names, table)
    pages, variables = module_structures(shard, process, names, table)
    ranks = _scattered_pages(shard, owners)
    modules = shard.owners.filter(pl.col("kind") == MODULE)["owner"].implode()
    numbers = {thread: first_thread + rank for thread, rank in shard.ranks.items()}

    def located(rows: pl.DataFrame, values: list[str], divided: bool) -> pl.DataFrame:
        """Rows with (owner, page) as rows with (structure, instance, page)."""
        inside = rows.filter(pl.col("owner").is_in(modules))
        owned = rows.join(owners.select("owner", "kind", "structure", "instance"), on="owner")
        scattered = pl.col("kind").is_in([SMALL, UNKNOWN])
        small = owned.filter(scattered).join(ranks, on=["structure", "page"])
        small = small.with_columns(page="rank")
        whole = owned.filter(~scattered)
        if divided:
            inside = divide(inside, pages)
        else:
            inside = inside.join(pages.drop("bytes"), on=["owner", "page"], how="left")
        inside = inside.join(
            variables.select("owner", "variable", "structure"),
            on=["owner", "variable"],
            nulls_equal=True,
        ).with_columns(
            instance=pl.lit(0, dtype=pl.UInt32()),
            page=pl.coalesce("variable_page", "page"),
        )
        columns = [*PLACE, *values]
        return pl.concat([frame.select(columns) for frame in (whole, small, inside)])

    def renumbered(rows: pl.DataFrame) -> pl.DataFrame:
        return rows.with_columns(
            thread=pl.col("thread").replace_strict(numbers, return_dtype=pl.UInt32())
        )

    known = shard.counts.filter(pl.col("thread").is_in(list(numbers)))
    # A phase that gave its counters up has several rows for a page; a page is divided once.
    counted = ["reads", "writes", *(OPTIONAL_COLUMNS["accesses"] if session.cache else ())]
    known = sum_of_each(known, ["owner", "page", "thread", "phase"], counted)
    known = known.select("owner", "page", "thread", "phase", *counted)
    accesses = located(renumbered(known), ["thread", "phase", *counted], divided=True)
    accesses = sum_of_each(accesses, [*PLACE, "thread", "phase"], counted)
    accesses = accesses.filter((pl.col("reads") > 0) | (pl.col("writes") > 0))
    touched = shard.touches.filter(pl.col("thread").is_in(list(numbers)))
    touches = located(
        renumbered(touched), ["thread", "phase", "time", "pc", "flags"], divided=False
    )
    placement = located(shard.placement, ["node"], divided=False)
    samples = structures_of_samples(shard.samples, owners, pages, variables)
    lines = count_lines(Sites(shard.sites, samples), _counted(accesses, session), names.line)
    extents = pl.concat(
        [
            owners.filter(pl.col("kind") != UNKNOWN).select(
                "structure", "instance", "address", "size", "pages"
            ),
            variables.select(
                "structure",
                pl.lit(0, dtype=pl.UInt32()).alias("instance"),
                "address",
                "size",
                "pages",
            ),
        ]
    )
    return _Part(
        accesses,
        _first_touches(touches, shard, names, begin),
        last_of_each(placement, PLACE),
        _threads(shard, process, first_thread, begin, session),
        lines,
        extents,
        process_phases(shard, names, begin),
    )


def _scattered_pages(shard: Shard, owners: pl.DataFrame) -> pl.DataFrame:
    """Pages of scattered owners (small blocks) as (structure, page, rank): ranks number them."""
    scattered = owners.filter(pl.col("kind").is_in([SMALL, UNKNOWN])).select("owner", "structure")
    rows = [
        frame.select("owner", "page").join(scattered, on="owner")
        for frame in (shard.counts, shard.touches, shard.placement)
    ]
    return (
        pl.concat(rows)
        .select("structure", "page")
        .unique()
        .with_columns(rank=(pl.col("page").rank("dense").over("structure") - 1).cast(pl.UInt32()))
    )


def _first_touches(
    touches: pl.DataFrame, shard: Shard, names: ProcessNames, begin: int
) -> pl.DataFrame:
    places = []
    for address in touches["pc"].unique().to_list():
        if address == 0:
            places.append((address, "the kernel, in a system call", "", 0))
            continue
        places.append((address, *names.place(address)))
    schema = {"pc": pl.UInt64(), "function": pl.String(), "file": pl.String(), "line": pl.UInt32()}
    lines = pl.DataFrame(places, schema=schema, orient="row")
    start = shard.header["start_ns"] - begin
    since = (pl.col("time") - shard.header["start_ticks"]).cast(pl.Float64()) * shard.ns_per_tick
    return (
        last_of_each(touches.sort("time"), PLACE)
        # Out of range only in a damaged shard.
        .with_columns(time_ns=(since + start).clip(0, LATEST_NS).cast(pl.UInt64()))
        .join(lines, on="pc")
        .drop("pc", "time", "flags")
    )


def _threads(
    shard: Shard, process: int, first_thread: int, begin: int, session: Session
) -> pl.DataFrame:
    nodes = cpu_nodes(session.machine)
    sampled = session.ended.cpus if session.ended else {}
    rows = []
    last = shard.nanoseconds(shard.header["last_ticks"], begin)
    for number, thread in enumerate(shard.threads):
        key = f"{shard.header['pid']}/{thread.os_tid}"
        # Where it began is no evidence of where it works: threads bind themselves first.
        cpus = sorted({*thread.cpus, *sampled.get(key, [])} or thread.first_cpu)
        created = shard.nanoseconds(thread.started, begin)
        # A killed process noted the time last before its youngest threads began.
        end = max(last, created)
        rows.append(
            {
                "thread": first_thread + number,
                "process": process,
                "os_tid": thread.os_tid,
                "name": thread.name,
                "created_ns": created,
                "ended_ns": shard.nanoseconds(thread.ended, begin) if thread.ended else end,
                "cpus": cpus,
                "nodes": sorted({nodes[cpu] for cpu in cpus if cpu in nodes}),
            }
        )
    return pl.DataFrame(rows, schema=SCHEMAS["threads"])


def _assemble(
    parts: list[_Part],
    table: StructureTable,
    shards: list[Shard],
    session: Session,
    begin: int,
) -> Converted:
    end = max(shard.nanoseconds(shard.header["last_ticks"], begin) for shard in shards)
    phases = run_phases([part.phases for part in parts], end)
    accesses = pl.concat(
        phases.renumbered(part.accesses, process) for process, part in enumerate(parts)
    )
    structures, numbers = _structures(table, parts, accesses)

    def renumbered(rows: pl.DataFrame) -> pl.DataFrame:
        new = numbers.gather(rows["structure"]).alias("structure")
        return rows.with_columns(new).filter(pl.col("structure").is_not_null())

    accesses = _counted(renumbered(accesses), session)
    counts = _counts(session, shards)
    if counts == "first touches":
        accesses = accesses.clear()
    lines = merged(
        renumbered(phases.renumbered(part.lines, process)) for process, part in enumerate(parts)
    )
    first_touch = renumbered(
        pl.concat(
            phases.renumbered(part.first_touch, process) for process, part in enumerate(parts)
        )
    )
    first_touch = first_touch.sort("time_ns", maintain_order=True).with_columns(
        order=pl.int_range(pl.len(), dtype=pl.UInt64())
    )
    tables = {
        "structures": structures,
        "accesses": sort_by(accesses, [*PLACE, "thread", "phase"]),
        "first_touch": first_touch,
        "threads": pl.concat([part.threads for part in parts]),
        "placement": renumbered(pl.concat([part.placement for part in parts])).with_columns(
            pl.col("node").cast(pl.Int32())
        ),
        "lines": lines.clear() if counts == "first touches" else lines,
        "phases": phases.phases,
        "phase_spans": phases.spans,
        "instances": renumbered(_instances(parts)),
    }
    tables = {
        name: frame.select(
            *SCHEMAS[name].names(),
            *(column for column in OPTIONAL_COLUMNS.get(name, ()) if column in frame.columns),
        )
        for name, frame in tables.items()
    }
    return Converted(tables, _info(tables, shards, session, counts))


def _instances(parts: list[_Part]) -> pl.DataFrame:
    """Instances at one known address: a library loaded twice has its variables at two."""
    return (
        pl.concat([part.extents for part in parts])
        .filter(pl.col("address").is_not_null())
        .unique(["structure", "instance"], keep="none")
        .sort("structure", "instance")
    )


def _structures(
    table: StructureTable, parts: list[_Part], accesses: pl.DataFrame
) -> tuple[pl.DataFrame, pl.Series]:
    """The table of structures that were used; and by old number the new one, null if unused."""
    extents = pl.concat([part.extents for part in parts])
    used = accesses.group_by("structure").agg(seen=pl.col("page").max() + 1)
    # A page may be touched by the kernel, and by nothing that the recorder counts.
    touched = (
        pl.concat(
            frame.select("structure", "page")
            for part in parts
            for frame in (part.first_touch, part.placement)
        )
        .group_by("structure")
        .agg(touched=pl.col("page").max() + 1)
    )
    summed = (
        extents.group_by("structure")
        .agg(pl.col("size").max(), pl.col("pages").max(), instances=pl.col("instance").max() + 1)
        .join(used, on="structure", how="inner")
        .join(touched, on="structure", how="left")
        .with_columns(pages=pl.max_horizontal("pages", "seen", "touched"))
        .sort("structure")
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
            "call_stack": [[_valid(word) for word in s.call_stack] for s in rows],
            "named": [s.named for s in rows],
        },
        schema=SCHEMAS["structures"],
    )
    numbers: list[int | None] = [None] * len(table.structures)
    for new, old in enumerate(summed["structure"]):
        numbers[old] = new
    return structures, pl.Series(numbers, dtype=pl.UInt32())


def _valid(text: str) -> str:
    """File names may be bytes that are no text; tables hold only text."""
    return text.encode(errors="surrogateescape").decode(errors="replace")


def _count_pages(accesses: pl.DataFrame, first_touch: pl.DataFrame) -> int:
    """Distinct places that were accessed, or whose share of a page's accesses is none.

    Accesses are sorted by place, so that a place's first row is where it changes.
    """
    changes = [pl.col(name) != pl.col(name).shift(1) for name in PLACE]
    accessed = accesses.select(PLACE).filter(pl.any_horizontal(changes).fill_null(value=True))
    return pl.concat([accessed, first_touch.select(PLACE)]).n_unique()


def _options(session: Session) -> dict[str, Any]:
    every = {} if session.every_s is None else {"every_s": session.every_s}
    cache = {} if session.cache is None else {"cache": dataclasses.asdict(session.cache)}
    return {
        "stack": session.stack,
        "phases": session.phases,
        "lines": session.lines,
        **every,
        **cache,
    }


def _counts(session: Session, shards: list[Shard]) -> Counts:
    if session.recorder != "faults":
        return "accesses"
    return counts_of_faults(sum(shard.hinting.height for shard in shards))


def _moments(shards: list[Shard]) -> int:
    times = [
        (shard.hinting["time"] - shard.header["start_ticks"]).cast(pl.Float64()) * shard.ns_per_tick
        for shard in shards
    ]
    return count_moments(pl.concat(times).to_numpy())


def _counted(accesses: pl.DataFrame, session: Session) -> pl.DataFrame:
    """Without page faults that are no samples of accesses: see Shard."""
    if session.recorder != "faults":
        return accesses
    return accesses.filter(pl.col("reads") > 0).with_columns(writes=pl.lit(0, dtype=pl.UInt64))


def _info(
    tables: dict[str, pl.DataFrame], shards: list[Shard], session: Session, counts: Counts
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
        program=_valid(shards[0].program),
        arguments=tuple(_valid(word) for word in session.program[1:]),
        recorder=Recorder(
            session.recorder,
            numascape.__version__,
            _options(session),
            counts,
            _moments(shards),
        ),
        host=session.host,
        machine=session.machine,
        page_size=PAGE_SIZE,
        started=session.started,
        times=Times(ended.wall_s, ended.cpu_s, ended.native_cpu_s) if ended else Times(0.0, 0.0),
        exit_status=ended.exit_status if ended else 0,
        processes=tuple(
            Process(number, shard.header["pid"], _valid(shard.program))
            for number, shard in enumerate(shards)
        ),
        totals=Totals(
            int(recorded["reads"].sum()),
            int(recorded["writes"].sum()),
            _count_pages(accesses, tables["first_touch"]),
            tables["threads"].height,
        ),
        attributed_share=share,
        unseen=tuple(not_seen(shards, every, session.recorder)),
    )
