# SPDX-License-Identifier: Apache-2.0
"""Sums up the part of one rank. This is what an engine runs for every rank."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from numascape.analysis.remote import remote_accesses
from numascape.errors import NumascapeError
from numascape.findings import examine, findings_of
from numascape.findings.finding import Finding
from numascape.findings.subject import Run
from numascape.jobs.tables import SCHEMAS, JobTables
from numascape.trace import Trace
from numascape.trace.counting import run_error
from numascape.trace.job import JobInfo, RankPart, read_part

MIN_SHARE = 1e-4
"""Structures with a lower share of a rank's accesses are left out, as in `numascape show`."""
_BLOCKS = 1024
"""Shared memory of more pages is divided into at most this many blocks."""


def sum_up(job: JobInfo, rank: int, folder: Path) -> JobTables:
    """The tables of one rank. If its part cannot be used, they only say why."""
    try:
        part = read_part(job, rank, folder)
        trace = Trace.read(folder)
        run = examine(trace)
        shared = shared_names(trace)
        return JobTables.of(
            ranks=[_rank(part, trace)],
            sums=list(_sums(rank, run, shared)),
            # Gains are predicted for a run that is alone on its machine, which a rank is not.
            findings=[
                _finding(rank, run, finding, shared) for finding in findings_of(run, gains=False)
            ],
            shared=_shared(rank, trace, shared),
        )
    except NumascapeError as error:
        return JobTables.of(left_out=[(rank, folder.name, str(error))])


def _rank(part: RankPart, trace: Trace) -> dict[str, Any]:
    info = part.info
    about = info.part
    assert about is not None
    return {
        "rank": part.rank,
        "host": info.host.name,
        "cpus": list(about.cpus),
        "nodes": sorted(
            node.node for node in info.machine.nodes if not {*node.cpus}.isdisjoint(about.cpus)
        ),
        "pid": info.processes[0].pid if info.processes else 0,
        "processes": len(info.processes),
        "program": info.program,
        "exit_status": -1 if info.exit_status is None else info.exit_status,
        "started": info.started,
        "wall_s": info.times.wall_s,
        "cpu_s": info.times.cpu_s,
        "recorder": info.recorder.name,
        "version": info.recorder.version,
        "counts": info.recorder.counts,
        "threads": trace.threads.height,
        "pages": info.totals.pages,
        "reads": info.totals.reads,
        "writes": info.totals.writes,
        "error": run_error(trace) * (info.totals.reads + info.totals.writes),
    }


def _sums(rank: int, run: Run, shared: dict[int, str]) -> Iterator[dict[str, Any]]:
    nodes = _remote(run.trace)
    for row in run.trace.structures.iter_rows(named=True):
        number = row["structure"]
        facts = run.facts.get(number)
        if facts is None or facts.accesses < max(1.0, MIN_SHARE * run.accesses):
            continue
        subject = run.subject(number)
        known, remote = nodes.get(number, (0, 0))
        yield {
            "rank": rank,
            **{name: row[name] for name in ("structure", "name", "kind", "function")},
            **{name: row[name] for name in ("file", "line", "size")},
            "owner": run.owners[number].value,
            "reads": facts.reads,
            "writes": facts.writes,
            "known": known,
            "remote": remote,
            "share": facts.accesses / max(1, run.accesses),
            "threads": facts.threads,
            "touched_pages": facts.touched_pages,
            "busiest_share": facts.busiest_share,
            "first_toucher_share": facts.first_toucher_share,
            "foreign_share": 1 - facts.own_share if facts.first_toucher is not None else 0.0,
            "pattern": "" if subject is None else subject.pattern.value,
            "shared": shared.get(number, ""),
        }


def _remote(trace: Trace) -> dict[int, tuple[int, int]]:
    """By structure: accesses that are known to be local or remote, and those that are remote."""
    sums = remote_accesses(trace).group_by("structure").agg(pl.col("accesses", "remote").sum())
    return {number: (known, round(remote)) for number, known, remote in sums.iter_rows()}


def _finding(rank: int, run: Run, finding: Finding, shared: dict[int, str]) -> dict[str, Any]:
    place = finding.place
    return {
        "rank": rank,
        "kind": finding.kind.value,
        "structure": -1 if finding.structure is None else finding.structure,
        "name": finding.name,
        "shared": "" if finding.structure is None else shared.get(finding.structure, ""),
        "function": place.function if place else "",
        "file": place.file if place else "",
        "line": place.line if place else 0,
        "share": min(1.0, finding.nearer / max(1, run.accesses)),
        "confidence": finding.confidence,
        "to_do": finding.to_do,
        "why": finding.why,
        "advice": list(finding.advice),
    }


def shared_names(trace: Trace) -> dict[int, str]:
    """By structure, the memory that other processes may map, too: the path of its file, or a name.

    Memory of System V and memory without a file are named after their object, which the other
    processes see as well.
    """
    structures = trace.structures
    if "shared" not in structures.columns:
        return {}
    mapped = structures.filter(pl.col("shared") & (pl.col("kind") == "mapping"))
    names = dict(
        mapped.filter(pl.col("file") == "")
        .filter(pl.col("module") != "")
        .select("structure", "module")
        .iter_rows()
    )
    for number, object_name in _objects(trace).select("structure", "object").iter_rows():
        names.setdefault(number, f"shared memory {object_name}")
    return names


def _objects(trace: Trace) -> pl.DataFrame:
    """The instances that are mapped shared: structure, instance, object, object_page."""
    instances = trace.instances
    if "object" not in instances.columns:
        return pl.DataFrame(
            schema={
                **dict.fromkeys(("structure", "instance"), SCHEMAS["sums"]["rank"]),
                "object": pl.String,
                "object_page": pl.UInt64,
            }
        )
    return instances.filter(pl.col("object") != "").select(
        "structure", "instance", "object", "object_page"
    )


def block_pages(pages: int) -> int:
    """The pages of a block, if shared memory has this many pages: a power of two."""
    blocks = 1
    while blocks * _BLOCKS < pages:
        blocks *= 2
    return blocks


def _shared(rank: int, trace: Trace, names: dict[int, str]) -> pl.DataFrame:
    """The rank's use of each block of the memory that it may share with others.

    Times are those of the host's clock, so that the first touches of its ranks can be compared.
    """
    schema = SCHEMAS["shared"]
    if not names or trace.info.part is None:
        return pl.DataFrame(schema=schema)
    sizes = dict(trace.structures.select("structure", "pages").iter_rows())
    known = pl.DataFrame(
        {
            "structure": list(names),
            "memory": list(names.values()),
            "pages": [block_pages(sizes[number]) for number in names],
        },
        schema={"structure": pl.UInt32, "memory": pl.String, "pages": pl.UInt64},
    ).lazy()
    objects = _objects(trace).lazy()
    # A page of a file has the same number in all ranks, even if they map it at different offsets.
    page = pl.col("page") + pl.col("object_page").fill_null(0)
    located = [
        pl.col("object").fill_null(""),
        (page // pl.col("pages") * pl.col("pages")).alias("first_page"),
    ]
    keys = ["memory", "object", "pages", "first_page"]
    place = ["structure", "instance"]
    used = (
        trace.accesses.lazy()
        .join(known, on="structure")
        .join(objects, on=place, how="left")
        .with_columns(located)
        .group_by(keys)
        .agg(pl.col("reads").sum(), pl.col("writes").sum())
    )
    touched = (
        trace.first_touch.lazy()
        .join(known, on="structure")
        .join(objects, on=place, how="left")
        .with_columns(located)
        .sort("time_ns", "order")
        .group_by(keys, maintain_order=True)
        .agg(pl.col("time_ns", "function", "file", "line").first())
    )
    return (
        used.join(touched, on=keys, how="full", coalesce=True)
        .select(
            *keys,
            pl.lit(trace.info.host.name).alias("host"),
            pl.lit(rank).alias("rank"),
            pl.col("reads", "writes", "line").fill_null(0),
            (pl.col("time_ns") + trace.info.part.clock_ns).fill_null(0).alias("touched_ns"),
            pl.col("function", "file").fill_null(""),
        )
        .collect()
    )
