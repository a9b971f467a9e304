# SPDX-License-Identifier: Apache-2.0
"""Each 4 KiB page has one user, but 2 MiB pages would have several."""

from __future__ import annotations

import numpy as np
import polars as pl

from numascape.analysis.huge_pages import has_huge_pages
from numascape.findings.advice import pin
from numascape.findings.finding import Evidence, Figure, Finding, Fix, Kind
from numascape.findings.page_use import Floats, Integers
from numascape.findings.pattern import Pattern
from numascape.findings.subject import Subject
from numascape.findings.thresholds import MIN_BOUNDARY_SHARE, MIN_HUGE_PAGES, sureness
from numascape.quantities import percent
from numascape.trace.format import HUGE_PAGE_BYTES, PAGE_BYTES

_PAGES = HUGE_PAGE_BYTES // PAGE_BYTES


def diagnose(subject: Subject) -> Finding | None:
    """Return the finding, or None."""
    if subject.pattern is not Pattern.SPLIT or subject.row["kind"] not in ("heap", "mapping"):
        return None
    of_huge = has_huge_pages(subject.run.trace, subject.structure)
    if of_huge is False:
        return None
    lost, huge = loss(subject)
    if lost < MIN_BOUNDARY_SHARE or min_huge_pages(subject) < MIN_HUGE_PAGES:
        return None
    return Finding(
        kind=Kind.HUGE_PAGE_FALSE_SHARING,
        structure=subject.structure,
        name=subject.name,
        threads=subject.threads,
        why=(
            f"Each 4 KiB page has one user. {_which(of_huge)} threads that are not the "
            f"main user of a 2 MiB page {'make' if of_huge else 'would make'} {percent(lost)} of "
            f"the accesses. (It has {huge} such pages.)"
        ),
        fixes=(
            Fix(
                "Align each thread's part to 2 MiB, or allocate the parts separately. If the parts "
                "are smaller than 2 MiB, use small pages: call `madvise(start, size, "
                "MADV_NOHUGEPAGE)` before the memory is touched, or set "
                "`GLIBC_TUNABLES=glibc.malloc.hugetlb=0` for the program."
            ),
            Fix(pin(subject.run)),
        ),
        evidence=(
            Evidence("accesses by other threads with 2 MiB pages", lost, "share"),
            Evidence("whole 2 MiB pages in it", huge, "count"),
        ),
        figure=Figure.ACCESS_DISTRIBUTION,
        confidence=_confidence(lost, known=of_huge is not None),
        place=subject.used_at,
        nearer=round(lost * subject.working),
    )


def _which(of_huge: bool | None) -> str:
    """The beginning of a sentence: what is known of its pages."""
    if of_huge:
        return "But the kernel gives it transparent huge pages, so"
    return "With transparent huge pages,"


def _confidence(lost: float, *, known: bool) -> float:
    sure = sureness(lost, MIN_BOUNDARY_SHARE, 0.5)
    return 0.9 * sure if known else 0.5 * sure + 0.2


def loss(subject: Subject) -> tuple[float, int]:
    """How much the share of the work by others than a page's main user grows with huge pages.

    It is this share with huge pages, minus the share with 4 KiB pages. Only complete huge pages
    within an instance count. Also returns the number of these pages.
    """
    use, offsets = subject.use, _offsets(subject)
    small = (offsets + use.page * PAGE_BYTES) // PAGE_BYTES
    key = use.instance * (1 << 32) + small // _PAGES
    huge, where, held = np.unique(key, return_inverse=True, return_counts=True)
    whole = held == _PAGES
    inside = whole[where]
    if not inside.any():
        return 0.0, 0
    by_user = _by_user(subject)
    counts = np.zeros((len(huge), by_user.shape[1]))
    np.add.at(counts, where, by_user)
    by_others = counts[whole].sum() - counts[whole].max(axis=1).sum()
    already = by_user[inside].sum() - by_user[inside].max(axis=1).sum()
    return float((by_others - already) / by_user.sum()), int(whole.sum())


def min_huge_pages(subject: Subject) -> int:
    """The smallest number of whole huge pages in the structure, over all addresses of its blocks.

    The same program gets other addresses in the next run. Only a block that begins with a huge page
    probably does so each time.
    """
    first = np.flatnonzero(np.diff(subject.use.instance, prepend=-1))
    pages = np.diff(first, append=len(subject.use.page))
    lost = np.where(_offsets(subject)[first] == 0, 0, _PAGES - 1)
    return int((np.maximum(pages - lost, 0) // _PAGES).sum())


def _by_user(subject: Subject) -> Floats:
    """Accesses as pages x users: threads, or all threads of a node if nodes were observed."""
    use, nodes = subject.use, subject.run.nodes
    if nodes is None or not nodes.observed:
        return use.counts
    _, user = np.unique(nodes.thread_node[use.threads], return_inverse=True)
    counts = np.zeros((len(use.page), int(user.max()) + 1))
    for column, one in enumerate(user.tolist()):
        counts[:, one] += use.counts[:, column]
    return counts


def _offsets(subject: Subject) -> Integers:
    """For each page, the offset of the first page of its instance in a huge page.

    0 if the address is unknown.
    """
    known = subject.run.trace.instances.filter(pl.col("structure") == subject.structure)
    wanted = pl.DataFrame({"instance": subject.use.instance.astype(np.uint32)})
    found = wanted.join(
        known.unique("instance").select("instance", "address"),
        on="instance",
        how="left",
        maintain_order="left",
    )["address"].fill_null(0)
    return np.asarray(found.to_numpy() % HUGE_PAGE_BYTES // PAGE_BYTES * PAGE_BYTES, np.int64)
