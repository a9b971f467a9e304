# SPDX-License-Identifier: Apache-2.0
"""Quantities as text: shares, counts and bytes, by the same rules as the report's page.

A share is never shown as 0 % unless it is 0, and never as 100 % unless it is everything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from numascape.errors import NumascapeError

_EXPONENTS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_BYTES = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:I?B)?", re.IGNORECASE)
_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_COUNT_UNITS = ("", "k", "M", "G", "T", "P", "E")


def share_of(part: float, whole: float) -> float:
    """The share of a part in the whole; 0 if there is nothing."""
    return part / whole if whole else 0.0


def share_text(share: float) -> str:
    """Return a share of 0 to 1 in percent, for tables: `98.7 %`, `0.25 %`, `< 0.01 %`."""
    if share <= 0:
        return "0 %"
    if share < 0.0001:
        return "< 0.01 %"
    if share >= 0.9995:
        return "100 %" if share >= 1 else "> 99.9 %"
    return f"{100 * share:.{2 if share < 0.01 else 1}f} %"


LEAST_ROUNDED = 0.01
"""From this share on, `percent` rounds to whole percents."""


def percent(share: float) -> str:
    """Return a share of 0 to 1 in percent for sentences, rounded if at least 1 %: `53 %`."""
    if 0.995 <= share < 0.9995:
        return "> 99 %"
    if LEAST_ROUNDED <= share < 0.995 or share >= 1:
        return f"{100 * share:.0f} %"
    if 0.0001 <= share < LEAST_ROUNDED:
        return f"{100 * share:.2g} %"
    return share_text(share)


def count_text(number: int) -> str:
    """Return a count in three digits: `999`, `1.23 k`, `45.6 M`."""
    value, unit = _scaled(float(number), 1000, _COUNT_UNITS)
    if not unit:
        return f"{number}"
    digits = 0 if value >= 99.95 else 1 if value >= 9.995 else 2
    return f"{value:.{digits}f} {unit}"


def bytes_text(number: float) -> str:
    """Return bytes in three digits, without trailing zeros: `12 B`, `1.5 KiB`, `128 MiB`."""
    value, unit = _scaled(float(number), 1024, _BYTE_UNITS)
    text = f"{value:.0f}" if value >= 100 or unit == "B" else f"{value:.3g}"
    return f"{text} {unit}"


def counted(number: int, noun: str) -> str:
    """Return a count with its noun: `1 access`, `12 300 accesses`, `4.1 billion accesses`."""
    nouns = noun if number == 1 else noun + ("es" if noun.endswith("s") else "s")
    for size, word in ((10**12, "trillion"), (10**9, "billion"), (10**6, "million")):
        if number >= size:
            return f"{number / size:.3g} {word} {nouns}"
    return f"{grouped_digits(number)} {nouns}"


def ranges_text(numbers: Iterable[int], noun: str) -> str:
    """Return numbers with their noun as ranges, at most six: `thread 3`, `ranks 0-7, 9`."""
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    parts = [str(first) if first == last else f"{first}-{last}" for first, last in ranges]
    shown = ", ".join(parts[:6]) + (" ..." if len(parts) > 6 else "")
    several = len(parts) != 1 or parts[0].count("-")
    return f"{noun}{'s' if several else ''} {shown}"


def grouped_digits(number: float) -> str:
    """Return a whole number with thin spaces between groups of three digits: `12 300`."""
    return f"{number:,.0f}".replace(",", "\u202f")


def parse_bytes(text: str) -> int:
    """Return the bytes in a text such as `8G`, `512MiB`, `1.5T`, `4096`; units are powers of 1024.

    Raises NumascapeError when it is not such a quantity.
    """
    match = _BYTES.fullmatch(text.strip())
    if match is None:
        raise NumascapeError(f"{text!r} is not an amount of memory: write it as 8G, 512M or 4096")
    return int(float(match[1]) * (1 << _EXPONENTS[match[2].upper()]))


def _scaled(value: float, step: int, units: tuple[str, ...]) -> tuple[float, str]:
    """Return the value in the first unit in which it has at most three digits before the point."""
    for unit in units[:-1]:
        # 999.5 would be rounded to four digits; 1023 KiB may have four.
        if value < (999.5 if step == 1000 else step):
            return value, unit
        value /= step
    return value, units[-1]
