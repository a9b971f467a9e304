# SPDX-License-Identifier: Apache-2.0
"""A job as sentences: what ran, where, what was counted, and which parts are left out."""

from __future__ import annotations

from numascape.jobs.job import AnalysedJob
from numascape.quantities import count_text, counted, ranges_text, share_text

_LISTED = 20


def describe_job(job: AnalysedJob) -> list[str]:
    """One sentence per line; the first three are the program, the ranks, and the counts."""
    ranks = job.ranks
    hosts = sorted(set(ranks["host"]))
    program = ranks.item(0, "program")
    expected = f" of {job.info.size}" if job.info.size is not None else ""
    some = f" ({job.info.recorded} were to be recorded)" if job.info.recorded else ""
    by = f", started by {job.info.launcher}" if job.info.launcher else ""
    lines = [
        f"{job.path.name}: a job of {program}{by}",
        f"{ranks.height}{expected} ranks{some} on {counted(len(hosts), 'host')} "
        f"({', '.join(hosts[:4])}{', ...' if len(hosts) > 4 else ''}), "
        f"{counted(int(ranks['threads'].sum()), 'thread')}, started {min(ranks['started'])}",
        _counts(job),
        *job.notes,
        *_ends(job),
    ]
    left_out = job.left_out
    lines += [f"left out: {one.part}: {one.reason}" for one in left_out[:_LISTED]]
    if len(left_out) > _LISTED:
        lines.append(f"left out: {len(left_out) - _LISTED} more parts")
    return lines


def _counts(job: AnalysedJob) -> str:
    ranks = job.ranks
    reads, writes = int(ranks["reads"].sum()), int(ranks["writes"].sum())
    pages = counted(int(ranks["pages"].sum()), "page")
    counts = set(ranks["counts"])
    if counts == {"first touches"}:
        return f"its ranks touched {pages}; accesses were not recorded"
    noun = "samples of accesses" if counts == {"samples"} else "accesses"
    if job.estimate_error:
        within = share_text(job.estimate_error)
        noun += f", estimated from a share of the work; the total is right within {within}"
    return f"{count_text(reads)} reads and {count_text(writes)} writes ({noun}) on {pages}"


def _ends(job: AnalysedJob) -> list[str]:
    """The ranks that did not end with status 0."""
    ended = job.ranks.filter(job.ranks["exit_status"] != 0)
    lines = []
    for (status,), rows in sorted(ended.partition_by("exit_status", as_dict=True).items()):
        how = "the end was not seen" if status < 0 else f"ended with status {status}"
        if status > 128:
            how += f" (signal {status - 128})"
        lines.append(f"{ranges_text(rows['rank'], 'rank')}: {how}")
    return lines
