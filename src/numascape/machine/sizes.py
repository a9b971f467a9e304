# SPDX-License-Identifier: Apache-2.0
"""Chooses how much memory and how many threads to measure with."""

from __future__ import annotations

from typing import Final

from numascape.machine.description import Machine

_MIN_OUTSIDE: Final = 64 << 20
_MAX_OUTSIDE: Final = 4 << 30
_MAX_QUICK: Final = 512 << 20


def outside_bytes(machine: Machine, quick: bool) -> int:
    """Bytes that no cache holds: four times the last-level caches of a node."""
    last = max((cache.level for cache in machine.caches if cache.kind == "unified"), default=0)
    total = max(
        (
            sum(cache.bytes for group in cache.groups if set(group) & set(node.cpus))
            for node in machine.nodes
            for cache in machine.caches
            if cache.level == last and cache.kind == "unified"
        ),
        default=0,
    )
    wanted = max(4 * total, _MIN_OUTSIDE)
    most = max(_MAX_QUICK, 2 * total) if quick else _MAX_OUTSIDE
    return min(wanted, most, _MAX_OUTSIDE)


def sizes_between(smallest: int, largest: int, per_octave: int) -> list[int]:
    """Sizes from `smallest` to `largest`, `per_octave` per doubling, in whole cache lines."""
    sizes, step = [], 0
    while (size := smallest * 2 ** (step / per_octave)) < 0.9 * largest:
        sizes.append(int(size) // 64 * 64)
        step += 1
    return sorted({*sizes, largest // 64 * 64})


def thread_counts(total: int, per_node: list[int]) -> list[int]:
    """The numbers 1, 2, 4, ... and those of whole nodes, up to `total`."""
    counts = {1 << k for k in range(total.bit_length()) if 1 << k <= total}
    filled = 0
    for cores in per_node:
        filled += cores
        counts.add(filled)
    return sorted(counts)
