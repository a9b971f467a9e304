# SPDX-License-Identifier: Apache-2.0
"""Text for a finding's numbers and for sets of threads."""

from __future__ import annotations

from collections.abc import Sequence

from numascape.quantities import bytes_text, grouped, percent


def number_text(value: float, unit: str) -> str:
    """A finding's number with its unit, as `share`, `count`, `bytes` and `times` need it."""
    if unit == "share":
        return percent(value)
    if unit == "bytes":
        return bytes_text(int(value))
    if unit == "times":
        return f"{value:.1f}x"
    return grouped(value)


def threads_text(threads: Sequence[int]) -> str:
    """`thread 3`, or `threads 0-7, 9`."""
    ranges: list[list[int]] = []
    for thread in sorted(threads):
        if ranges and thread == ranges[-1][1] + 1:
            ranges[-1][1] = thread
        else:
            ranges.append([thread, thread])
    parts = [str(a) if a == b else f"{a}-{b}" for a, b in ranges]
    shown = ", ".join(parts[:6]) + (" ..." if len(parts) > 6 else "")
    return f"thread{'' if len(threads) == 1 else 's'} {shown}"
