# SPDX-License-Identifier: Apache-2.0
"""Numbers and sets of threads as a sentence has them."""

from __future__ import annotations

from collections.abc import Sequence

from numascape.machine.wording import bytes_text


def percent(share: float) -> str:
    """Format a share for a sentence: never 0 % for something, never 100 % for less than all."""
    if share >= 1 or share <= 0:
        return f"{share * 100:.0f} %"
    if share > 0.995:
        return "over 99 %" if share < 0.9995 else "nearly 100 %"
    if share >= 0.01:
        return f"{share * 100:.0f} %"
    return f"{share * 100:.2g} %" if share >= 0.0001 else "under 0.01 %"


def percent_first(share: float) -> str:
    """Format a share for the beginning of a sentence."""
    text = percent(share)
    return text[0].upper() + text[1:]


def counted(number: int, noun: str) -> str:
    """Format a count with its noun: 1 access, 12 300 accesses, 4.1 billion accesses."""
    plural = noun if number == 1 else noun + ("es" if noun.endswith("s") else "s")
    for size, word in ((10**12, "trillion"), (10**9, "billion"), (10**6, "million")):
        if number >= size:
            return f"{number / size:.3g} {word} {plural}"
    return f"{number:,}".replace(",", "\u202f") + f" {plural}"


def number_text(value: float, unit: str) -> str:
    """A finding's number with its unit, as `share`, `count`, `bytes` and `times` need it."""
    if unit == "share":
        return percent(value)
    if unit == "bytes":
        return bytes_text(int(value))
    if unit == "times":
        return f"{value:.1f}x"
    return f"{value:,.0f}".replace(",", "\u202f")


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
