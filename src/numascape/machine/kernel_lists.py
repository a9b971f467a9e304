# SPDX-License-Identifier: Apache-2.0
"""Parses and formats sets of CPUs and nodes like the kernel and hwloc: lists, masks."""

from __future__ import annotations

from collections.abc import Iterable

from numascape.machine.description import MAX_CPUS


def parse_cpu_list(text: str) -> list[int]:
    """The numbers in a kernel list such as `0-3,8,10-11`; raises ValueError if it is not one."""
    numbers: list[int] = []
    for part in text.strip().split(","):
        if part:
            first, dash, last = part.partition("-")
            if dash and not last.isdecimal():
                raise ValueError(f"{part!r} is not a range of CPUs")
            low, high = int(first), int(last or first)
            if high >= MAX_CPUS:
                raise ValueError(f"{part!r} is beyond the {MAX_CPUS} CPUs that Numascape supports")
            numbers.extend(range(low, high + 1))
    return numbers


def format_cpu_list(numbers: Iterable[int]) -> str:
    """The shortest kernel list of the numbers; the reverse of parse_cpu_list."""
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(f"{first}" if first == last else f"{first}-{last}" for first, last in ranges)


def parse_mask(text: str) -> tuple[int, ...]:
    """The numbers in 32-bit words such as `0x0000ffff,0xffffffff`; the last word is the lowest.

    Raises ValueError if it is not such a mask, or if it has infinitely many bits.
    """
    words = text.strip().split(",")
    if len(words) > MAX_CPUS // 32:
        raise ValueError(f"it has more bits than the {MAX_CPUS} CPUs that Numascape supports")
    numbers: list[int] = []
    for position, word in enumerate(reversed(words)):
        bits = int(word or "0", 16)
        if not 0 <= bits < 1 << 32:
            raise ValueError(f"{word[:20]!r} is not a word of a mask")
        numbers += [position * 32 + bit for bit in range(32) if bits >> bit & 1]
    return tuple(numbers)


def format_mask(numbers: Iterable[int]) -> str:
    """The mask as hwloc writes it; the reverse of parse_mask."""
    bits = sum(1 << number for number in set(numbers))
    words = [bits >> shift & 0xFFFFFFFF for shift in range(0, max(bits.bit_length(), 1), 32)]
    return ",".join(f"0x{word:08x}" for word in reversed(words))
