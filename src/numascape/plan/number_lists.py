# SPDX-License-Identifier: Apache-2.0
"""Parses and formats ordered lists of numbers, as in a plan: `0-15,32`."""

from __future__ import annotations

import re

from numascape.machine.description import MAX_CPUS
from numascape.machine.kernel_lists import parse_cpu_list


def parse_numbers(text: str) -> tuple[int, ...]:
    """The numbers of a list such as `0-15,32`, in its order; empty for an empty text.

    Raises ValueError if it is not such a list, or has a number twice or above 65535.
    """
    if not re.fullmatch(r"([0-9]{1,7}(-[0-9]{1,7})?(,[0-9]{1,7}(-[0-9]{1,7})?)*)?", text):
        raise ValueError(f"{text[:40]!r} is not a list of numbers such as 0-15,32")
    numbers: list[int] = []
    for part in text.split(",") if text else ():
        found = parse_cpu_list(part)
        if not found:
            raise ValueError(f"{part!r} counts downwards")
        numbers += found
        if len(numbers) > MAX_CPUS:
            raise ValueError(f"it lists more than {MAX_CPUS} numbers")
    if len(set(numbers)) != len(numbers):
        raise ValueError(f"{text[:40]!r} has a number twice")
    return tuple(numbers)


def format_numbers(numbers: tuple[int, ...]) -> str:
    """The shortest list that keeps the order; the reverse of parse_numbers."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(f"{first}" if first == last else f"{first}-{last}" for first, last in ranges)
