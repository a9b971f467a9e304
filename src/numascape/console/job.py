# SPDX-License-Identifier: Apache-2.0
"""A job in the terminal: its ranks by class, its structures, shared memory, and its hosts."""

from __future__ import annotations

import polars as pl
from rich.console import Console
from rich.text import Text

from numascape.console.findings import print_conclusions
from numascape.console.job_findings import job_conclusions
from numascape.console.tables import name, table_of
from numascape.jobs.classes import RankClass, classes_of
from numascape.jobs.describe import describe_job
from numascape.jobs.job import AnalysedJob
from numascape.jobs.places import job_places
from numascape.jobs.shared import SharedMemory, shared_memory
from numascape.jobs.structures import job_structures
from numascape.quantities import bytes_text, count_text, percent, ranges_text, share_text
from numascape.terminal import printable

_STRUCTURES = 20
_OUTLIERS = 10
_PLACES = 20


def print_job(console: Console, job: AnalysedJob, *, every: bool) -> None:
    """Print the job, its findings first; `every`: all ranks, structures and outliers."""
    print_conclusions(console, job_conclusions(job))
    for line in describe_job(job):
        console.print(printable(line), soft_wrap=True)
    console.print()
    _print_classes(console, job, every=every)
    console.print()
    _print_structures(console, job, every=every)
    if shared := shared_memory(job.tables):
        console.print()
        _print_shared(console, shared)
    places = job_places(job)
    if places.height > 1:
        console.print()
        _print_places(console, places, every=every)
    if every:
        console.print()
        _print_ranks(console, job)


def _print_classes(console: Console, job: AnalysedJob, *, every: bool) -> None:
    classes = classes_of(job.tables)
    totals = dict(
        job.ranks.select("rank", pl.col("reads") + pl.col("writes").alias("accesses")).iter_rows()
    )
    usual = [one for one in classes if not one.reason]
    rows = [_class_row(number, one, totals) for number, one in enumerate(usual, 1)]
    text = ("Ranks", "Main structures")
    headings = ("Class", "Number", "Ranks", "Typical", "Accesses", text[1])
    for row, one in zip(rows, usual, strict=True):
        row.append(_main_structures(job, one.representative))
    console.print(table_of(headings, rows, console.width, text))
    outliers = [one for one in classes if one.reason]
    shown = outliers if every else outliers[:_OUTLIERS]
    for one in shown:
        line = f"outlier: {ranges_text(one.ranks, 'rank')}: {one.reason}"
        console.print(Text(printable(line), "yellow"), soft_wrap=True)
    if len(outliers) > len(shown):
        console.print(f"{len(outliers) - len(shown)} more kinds of outliers (--all)")


def _class_row(number: int, one: RankClass, totals: dict[int, int]) -> list[str]:
    return [
        str(number),
        str(len(one.ranks)),
        ranges_text(one.ranks, "rank").partition(" ")[2],
        f"rank {one.representative}",
        count_text(totals[one.representative]),
    ]


def _main_structures(job: AnalysedJob, rank: int) -> str:
    rows = job.tables.sums.filter(pl.col("rank") == rank).sort("share", descending=True).head(3)
    return ", ".join(
        f"{name(row['name'])} {percent(row['share'])}" for row in rows.iter_rows(named=True)
    )


def _print_structures(console: Console, job: AnalysedJob, *, every: bool) -> None:
    frame = job_structures(job.tables)
    shown = frame if every else frame.head(_STRUCTURES)
    rows = [
        [
            name(row["name"]),
            row["kind"],
            str(row["ranks"]),
            bytes_text(row["size"]),
            count_text(row["reads"]),
            count_text(row["writes"]),
            share_text(row["share"]),
            f"{row['imbalance']:.2f}",
            f"rank {row['busiest']}",
        ]
        for row in shown.iter_rows(named=True)
    ]
    headings = (
        *("Structure", "Kind", "Ranks", "Size", "Reads", "Writes", "Share"),
        *("Imbalance", "Busiest"),
    )
    console.print(table_of(headings, rows, console.width, ("Structure", "Kind")))
    if hidden := frame.height - shown.height:
        console.print(f"{hidden} more structures are not shown (--all)")


def _print_shared(console: Console, shared: list[SharedMemory]) -> None:
    headings = ("Shared memory", "Host", "Used", "Ranks", "Accesses", "First rank", "By others")
    rows = [
        [
            name(one.name),
            name(one.host),
            bytes_text(one.bytes),
            str(len(one.ranks)),
            count_text(one.accesses),
            f"rank {one.first_rank} ({percent(one.first_share)})",
            percent(one.foreign_share),
        ]
        for one in shared
    ]
    console.print(table_of(headings, rows, console.width, ("Shared memory", "Host")))


def _print_places(console: Console, places: pl.DataFrame, *, every: bool) -> None:
    shown = places if every else places.head(_PLACES)
    accesses = max(1, int(places["accesses"].sum()))
    rows = [
        [
            name(row["host"]),
            row["on"] or "unknown",
            str(row["ranks"]),
            str(row["threads"]),
            count_text(row["accesses"]),
            share_text(row["accesses"] / accesses),
            percent(row["remote"] / row["known"]) if row["known"] else "unknown",
            f"{row['imbalance']:.2f}",
            f"rank {row['busiest']}",
        ]
        for row in shown.iter_rows(named=True)
    ]
    headings = (
        *("Host", "Nodes", "Ranks", "Threads", "Accesses", "Share", "Remote", "Imbalance"),
        "Busiest",
    )
    console.print(table_of(headings, rows, console.width, ("Host", "Nodes")))
    if hidden := places.height - shown.height:
        console.print(f"{hidden} more hosts and nodes are not shown (--all)")


def _print_ranks(console: Console, job: AnalysedJob) -> None:
    headings = ("Rank", "Host", "CPUs", "Program", "Exit", "Threads", "Reads", "Writes")
    rows = [
        [
            str(row["rank"]),
            name(row["host"]),
            ranges_text(row["cpus"], "CPU").partition(" ")[2] if row["cpus"] else "",
            name(row["program"].rpartition("/")[2]),
            "?" if row["exit_status"] < 0 else str(row["exit_status"]),
            str(row["threads"]),
            count_text(row["reads"]),
            count_text(row["writes"]),
        ]
        for row in job.ranks.iter_rows(named=True)
    ]
    console.print(table_of(headings, rows, console.width, ("Host", "CPUs", "Program")))
