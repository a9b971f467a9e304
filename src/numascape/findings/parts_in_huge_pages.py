# SPDX-License-Identifier: Apache-2.0
"""Threads have pages of their own, but would share them if pages were of 2 MiB."""

from __future__ import annotations

import numpy as np
import polars as pl

from numascape.findings.advice import pin
from numascape.findings.finding import Evidence, Figure, Finding, Kind
from numascape.findings.page_use import Floats, Integers
from numascape.findings.pattern import Pattern
from numascape.findings.subject import PAGE_BYTES, Subject
from numascape.findings.thresholds import BOUNDARY, HUGE_PAGES, sureness
from numascape.findings.wording import percent

HUGE_PAGE = 2 << 20


def diagnose(subject: Subject) -> Finding | None:
    """Find it, or not."""
    if subject.pattern is not Pattern.SPLIT or subject.row["kind"] not in ("heap", "mapping"):
        return None
    lost, huge = loss(subject)
    if lost < BOUNDARY or huge < HUGE_PAGES:
        return None
    return Finding(
        kind=Kind.PARTS_IN_HUGE_PAGES,
        structure=subject.structure,
        name=subject.name,
        threads=subject.threads,
        why=(
            "Each page of 4 KiB has one user, but with transparent huge pages "
            f"{percent(lost)} of the accesses would be by others than the main user of their page "
            f"of 2 MiB ({huge} of them lie in it)."
        ),
        advice=(
            "Align each thread's part to 2 MiB, or allocate the parts one by one. Where the parts "
            "are smaller than that, use small pages for it: `madvise(start, size, "
            "MADV_NOHUGEPAGE)` before it is touched, or "
            "`GLIBC_TUNABLES=glibc.malloc.hugetlb=0` for the program.",
            pin(subject.run),
        ),
        evidence=(
            Evidence("accesses by others with pages of 2 MiB", lost, "share"),
            Evidence("whole pages of 2 MiB in it", huge, "count"),
        ),
        figure=Figure.ACCESS_DISTRIBUTION,
        # Whether the kernel makes huge pages of it is not known from the trace.
        confidence=0.5 * sureness(lost, BOUNDARY, 0.5) + 0.2,
        place=subject.used_at,
        nearer=round(lost * subject.working),
    )


def loss(subject: Subject) -> tuple[float, int]:
    """Share of the work by others than a page's main user that only huge pages cause.

    Only huge pages that lie wholly in an instance can come to be. Returns their number, too.
    """
    use, offsets = subject.use, _offsets(subject)
    small = (offsets + use.page * PAGE_BYTES) // PAGE_BYTES
    per_huge = HUGE_PAGE // PAGE_BYTES
    key = use.instance * (1 << 32) + small // per_huge
    huge, where, held = np.unique(key, return_inverse=True, return_counts=True)
    whole = held == per_huge
    inside = whole[where]
    if not inside.any():
        return 0.0, 0
    by_user = _by_user(subject)
    counts = np.zeros((len(huge), by_user.shape[1]))
    np.add.at(counts, where, by_user)
    by_others = counts[whole].sum() - counts[whole].max(axis=1).sum()
    already = by_user[inside].sum() - by_user[inside].max(axis=1).sum()
    return float((by_others - already) / by_user.sum()), int(whole.sum())


def _by_user(subject: Subject) -> Floats:
    """Pages x threads; where nodes are known, threads of one node are one user."""
    use, nodes = subject.use, subject.run.nodes
    if nodes is None:
        return use.counts
    _, user = np.unique(nodes.thread_node[use.threads], return_inverse=True)
    counts = np.zeros((len(use.page), int(user.max()) + 1))
    for column, one in enumerate(user.tolist()):
        counts[:, one] += use.counts[:, column]
    return counts


def _offsets(subject: Subject) -> Integers:
    """By page of the structure's use, where its instance's first page begins in a huge page.

    0 where that is unknown.
    """
    known = subject.run.trace.instances.filter(pl.col("structure") == subject.structure)
    wanted = pl.DataFrame({"instance": subject.use.instance.astype(np.uint32)})
    found = wanted.join(
        known.unique("instance").select("instance", "address"),
        on="instance",
        how="left",
        maintain_order="left",
    )["address"].fill_null(0)
    return np.asarray(found.to_numpy() % HUGE_PAGE // PAGE_BYTES * PAGE_BYTES, np.int64)
