# SPDX-License-Identifier: Apache-2.0
"""If no finding has a fix: says why there is no problem, or which problem has no single cause.

There is no problem only if few accesses go to memory of other threads or nodes, and no placement of
the whole memory is predicted to save time.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from numascape.analysis.ownership import Owner, is_remainder
from numascape.findings.description import run_computes
from numascape.findings.diagnoses import too_few_samples
from numascape.findings.diagnoses.cache_resident import is_cache_resident, is_written_by_several
from numascape.findings.diagnoses.packed_parts import written_by_several
from numascape.findings.finding import Evidence, Figure, Finding, Fix, Kind
from numascape.findings.gain import best_policy
from numascape.findings.remedies import Policy
from numascape.findings.subject import Run
from numascape.findings.thresholds import (
    MAX_PARALLEL_SHARE,
    MAX_REMOTE_SHARE,
    MAX_SHARED_SHARE,
    MIN_RELEVANT_GAIN,
)
from numascape.quantities import counted, percent, share_of
from numascape.trace.counting import knows_touches

_NAMED = 3
_PAD_OR_COPY = (
    "If each thread uses bytes of its own, pad them to 64 bytes. If not, let each thread work on a "
    "copy, and combine the copies rarely. To see which, record a program that was compiled without "
    "`numascape-cc`."
)
_COUNT_LINES = (
    "Record with `--traffic`, which counts these lines, on a machine with a CPU for each thread. "
    "If they travel often, let each thread work on a copy, and combine the copies rarely."
)
_ELSEWHERE = (
    "Check these first: the algorithm, vectorisation, cache misses, waiting for other threads, "
    "input and output."
)


def diagnose(run: Run, others: Sequence[Finding]) -> list[Finding]:
    """Return the finding when none of the `others` has a fix and the trace can show it."""
    # If threads hand data to each other, the nodes of these threads matter.
    if any(finding.to_do or finding.kind is Kind.PRODUCER_CONSUMER for finding in others):
        return []
    if unknown := too_few_samples.of_run(run, others):
        return [unknown]
    local = _local_share(run)
    if local is None and not knows_touches(run.trace):
        return []
    private = private_share(run)
    by_thread = _by_thread(run)
    threads = sum(1 for count in by_thread if count)
    busiest = share_of(max(by_thread, default=0), sum(by_thread))
    cached = _cached_share(run)
    policy = best_policy(run)
    why = run_computes(run) if run.computes else why_none(threads, local, private, cached, busiest)
    if run.sampled and threads < 2 <= run.trace.threads.height:
        why = f"All {counted(run.accesses, 'sample')} of accesses are by one thread."
    saved = 0.0 if policy is None else 1 - policy.relative
    travelling = _written_by_several(run, others)
    if why and saved < MIN_RELEVANT_GAIN and travelling:
        kind, fixes = Kind.NO_SINGLE_CAUSE, [Fix(_PAD_OR_COPY), Fix(_ELSEWHERE)]
        why = (
            f"No page is in a wrong place. But several threads write {', '.join(travelling)}, so "
            "lines travel between their caches, wherever the pages are. This recording does not "
            "show which bytes of a line each thread uses."
        )
    elif why and saved < MIN_RELEVANT_GAIN and (common := _common_lines(run)):
        kind, fixes = Kind.NO_SINGLE_CAUSE, [Fix(_COUNT_LINES), Fix(_ELSEWHERE)]
        why = (
            f"No page is in a wrong place. But several threads write the same bytes of "
            f"{', '.join(common)}. The lines may travel between their caches, wherever the pages "
            "are. Samples do not show how often."
        )
    elif why and saved < MIN_RELEVANT_GAIN:
        kind, fixes = Kind.NO_PROBLEM, [Fix(_ELSEWHERE)]
        why = f"No NUMA problem found. {why}"
    else:
        kind = Kind.NO_SINGLE_CAUSE
        why, fixes = _scattered(run, private, local, policy)
    return [
        Finding(
            kind=kind,
            structure=None,
            name="",
            threads=(),
            why=why,
            fixes=tuple(fixes),
            evidence=(
                Evidence("accesses by the thread that touched the page first", private, "share"),
                Evidence("threads with accesses", threads, "count"),
                Evidence("accesses to memory of runtime libraries", _runtime_share(run), "share"),
            ),
            figure=Figure.STRUCTURES,
            confidence=0.9 if run.accesses else 0.5,
        )
    ]


def why_none(
    threads: int, local: float | None, private: float, cached: float, busiest: float
) -> str:
    """Why NUMA is no problem of the run; empty if it may be one.

    `busiest`: the share of the busiest thread in the accesses.
    """
    if threads < 2:
        return "One thread makes all accesses, and its pages are on the node where it runs."
    if local is not None:
        if local >= 1 - MAX_REMOTE_SHARE:
            return f"{percent(local)} of the accesses stay on the node of their thread."
        return ""
    if busiest > MAX_PARALLEL_SHARE and private >= 1 - MAX_SHARED_SHARE:
        return (
            f"One thread makes {percent(busiest)} of the accesses, most of them to pages that it "
            "touched first. So what the other threads do hardly matters to this run. If their part "
            "is larger in the runs that you care about, record such a run."
        )
    if private >= 1 - MAX_SHARED_SHARE:
        return (
            f"{percent(private)} of the accesses go to pages that the same thread touched "
            "first: each thread works on local memory."
        )
    if private + cached >= 1 - MAX_SHARED_SHARE:
        return "The memory that threads share is small and stays in their caches."
    return ""


def _written_by_several(run: Run, others: Sequence[Finding]) -> list[str]:
    """The small structures that several threads write, where nothing is known of their lines."""
    trace = run.recorded
    names = []
    for finding in others:
        subject = None if finding.structure is None else run.subject(finding.structure)
        if finding.kind is not Kind.CACHE_RESIDENT or subject is None:
            continue
        own = pl.col("structure") == finding.structure
        seen = trace.seen_lines.filter(own, pl.col("lines") > 0)
        if seen.is_empty() and trace.transfers.is_empty() and is_written_by_several(subject):
            names.append(finding.name)
    return names


def _common_lines(run: Run) -> list[str]:
    """The structures whose lines several threads write, if these lines were not counted."""
    if run.computes or not run.recorded.transfers.is_empty():
        return []
    return written_by_several(run)


def _scattered(
    run: Run, private: float, local: float | None, policy: Policy | None
) -> tuple[str, list[Fix]]:
    """Say what is shared or remote although no structure has a finding, and what could help."""
    away = f"{percent(1 - private)} of the accesses go to pages that another thread touched first"
    if local is not None:
        away = f"{percent(1 - local)} of the accesses go to a node where their thread does not run"
    where = _where(run)
    why = f"No single structure has a NUMA problem. But {away}{where}."
    fixes = [Fix(_ELSEWHERE)]
    if policy is not None and 1 - policy.relative >= MIN_RELEVANT_GAIN:
        spread = policy.label == "interleave"
        means = (
            "Run it with `numactl --interleave=all`"
            if spread
            else "Make a copy of read-only structures on each node"
        )
        saved = f"{percent(1 - policy.relative)} of the run time saved on the given machine"
        fixes.insert(0, Fix(f"{means}: predicted {saved}."))
    return why, fixes


def _where(run: Run) -> str:
    """The structures with most accesses to pages that others touched first: `, mostly of A, B`."""
    foreign = {
        number: (1 - facts.own_share) * facts.accesses
        for number, facts in run.facts.items()
        if facts.threads > 1
    }
    most = sorted(foreign, key=lambda number: -foreign[number])[:_NAMED]
    rows = {row["structure"]: row for row in run.trace.structures.iter_rows(named=True)}
    names = [
        "memory without a name" if is_remainder(rows[number]) else str(rows[number]["name"])
        for number in most
        if foreign[number] > 0
    ]
    return f", mostly of {', '.join(dict.fromkeys(names))}" if names else ""


def private_share(run: Run) -> float:
    """Share of the run's accesses that are by the first toucher of the page."""
    own = sum(facts.own_share * facts.accesses for facts in run.facts.values())
    return share_of(own, run.accesses)


def _cached_share(run: Run) -> float:
    """Share of the run's accesses that go to others' pages in structures that stay in caches."""
    shared = sum(
        (1 - subject.whole.own_share) * subject.whole.accesses
        for subject in run.subjects
        if subject.whole.threads > 1 and is_cache_resident(subject)
    )
    return share_of(shared, run.accesses)


def _local_share(run: Run) -> float | None:
    """Share of the work on pages on the thread's node; None if nodes were not observed."""
    if run.nodes is None or not run.nodes.observed:
        return None
    traffic = run.nodes.traffic(run.work)
    total = float(traffic["accesses"].sum())
    local = traffic.filter(pl.col("thread_node") == pl.col("node"))["accesses"].sum()
    return float(local) / total if total else None


def _by_thread(run: Run) -> list[int]:
    count = (pl.col("reads") + pl.col("writes")).sum()
    sums = run.trace.accesses.group_by("thread").agg(count=count)
    return [int(count) for count in sums["count"]]


def _runtime_share(run: Run) -> float:
    count = sum(f.accesses for s, f in run.facts.items() if run.owners[s] is Owner.RUNTIME)
    return share_of(count, run.accesses)
