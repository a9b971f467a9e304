# SPDX-License-Identifier: Apache-2.0
"""Prints what a move of pages and threads will do, and its result."""

from __future__ import annotations

from collections.abc import Iterator

from numascape.live.affinity import ThreadResults
from numascape.live.moving import Account, by_pair
from numascape.live.plans import Move
from numascape.machine.kernel_lists import format_cpu_list
from numascape.quantities import bytes_text, counted


def planned_lines(move: Move) -> Iterator[str]:
    """Print what would be moved."""
    yield f"{move.subject}: {bytes_text(move.pages.total)} to move"
    for before, wanted, total in by_pair(move.pages.sets):
        yield f"  from node {before} to node {wanted}: {bytes_text(total)}"
    if move.pages.in_place:
        yield f"  already in place: {bytes_text(move.pages.in_place)}"
    for thread in move.threads:
        yield f"  thread {thread.tid} ({thread.name}): CPUs {format_cpu_list(thread.wanted)}"
    yield from unmet_lines(move)


def unmet_lines(move: Move) -> Iterator[str]:
    """Print the rules of a plan that were not followed."""
    for rule in move.unmet:
        yield f"  not found in this process: {rule}"


def account_lines(move: Move, account: Account, threads: ThreadResults | None) -> Iterator[str]:
    """Print what was moved, what was not and why, and what the kernel says afterwards."""
    moved = bytes_text(account.moved_bytes)
    yield f"{move.subject}: {moved} of {bytes_text(move.pages.total)} moved"
    for (before, now), total in sorted(account.moved.items()):
        yield f"  from node {before} to node {now}: {bytes_text(total)}"
    for reason, total in account.failed.most_common():
        yield f"  not moved, {reason}: {bytes_text(total)}"
    if account.pinned:
        yield f"  the kernel counts {bytes_text(account.pinned)} of this process as pinned (VmPin)"
    if account.ending:
        left = move.pages.total - account.tried
        yield f"  not tried, {account.ending}: {bytes_text(left)}"
    if threads is not None:
        yield f"  {counted(threads.moved, 'thread')} moved"
        for reason, count in threads.failed.items():
            yield f"  {counted(count, 'thread')} not moved: {reason}"
    if account.steps:
        yield (
            f"  {counted(account.steps, 'step')} in {account.seconds:.2g} s, "
            f"the longest {1000 * account.longest_s:.1f} ms"
        )
    yield (
        f"  verified: the kernel has {bytes_text(account.verified)} of "
        f"{bytes_text(account.tried)} on the wanted nodes"
    )
    yield from unmet_lines(move)
