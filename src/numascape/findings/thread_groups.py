# SPDX-License-Identifier: Apache-2.0
"""Finds out whether the threads that share pages form groups without a common thread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from numascape.findings.page_use import PageUse
from numascape.findings.pattern import Pattern
from numascape.findings.subject import Run


def has_separate_groups(run: Run) -> bool:
    """Whether the threads of the run can be divided so that no two parts share pages.

    Only structures whose pages are shared by groups count. If two of them have different groups,
    such as the rows and the columns of a grid of threads, no division fits both. If the nodes are
    known, each group must fit on one.
    """
    sizes = thread_group_sizes(one.use for one in run.subjects if one.pattern is Pattern.GROUPS)
    nodes = run.nodes.machine.nodes if run.nodes else ()
    room = max((len(node.cpus) for node in nodes), default=sizes[0] if sizes else 0)
    return len(sizes) > 1 and sizes[0] <= room


def thread_group_sizes(uses: Iterable[PageUse]) -> list[int]:
    """The sizes of groups of threads, largest first; threads that use the same page are in one.

    Only the usual sets of users count: a page at the border of two parts joins no groups.
    """
    group: dict[int, int] = {}
    for use in uses:
        for thread in use.threads.tolist():
            group.setdefault(thread, thread)
        for users in use.usual_users:
            joined = {group[thread] for thread in users}
            group = {t: min(joined) if g in joined else g for t, g in group.items()}
    return sorted(Counter(group.values()).values(), reverse=True)
