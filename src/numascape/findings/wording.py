# SPDX-License-Identifier: Apache-2.0
"""Text for a finding's numbers and for sets of threads."""

from __future__ import annotations

from collections.abc import Sequence

from numascape.quantities import bytes_text, grouped_digits, percent, ranges_text


def number_text(value: float, unit: str) -> str:
    """A finding's number with its unit, as `share`, `count`, `bytes` and `times` need it."""
    if unit == "share":
        return percent(value)
    if unit == "bytes":
        return bytes_text(int(value))
    if unit == "times":
        return f"{value:.1f}x"
    return grouped_digits(value)


def threads_text(threads: Sequence[int]) -> str:
    """`thread 3`, or `threads 0-7, 9`."""
    return ranges_text(threads, "thread")


def found_text(count: int, kind: str, about: str) -> str:
    """The number of findings, and the kind and the subject of the first."""
    first = f"{kind} ({about})."
    return f"1 finding: {first}" if count == 1 else f"{count} findings. The first: {first}"
