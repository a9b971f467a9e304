# SPDX-License-Identifier: Apache-2.0
"""A machine's parts as people write them: sizes, caches of a node, provenance."""

from __future__ import annotations

from numascape.machine.description import Cache, Machine, MachineNode, Provenance


def bytes_text(number: int) -> str:
    """Bytes in the largest unit that leaves a number above 1: 48 KiB, 1.5 MiB, 32 GiB."""
    value = float(number)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.4g} {unit}"
        value /= 1024
    return f"{value:.4g} TiB"


def cache_text(machine: Machine, node: MachineNode) -> str:
    """The node's caches of data: `L1 32 KiB, L2 1 MiB, 2 x L3 32 MiB (16 CPUs each)`."""
    parts = []
    for cache in machine.caches:
        if cache.kind == "instruction" or not cache.bytes:
            continue
        groups = [group for group in cache.groups if set(group) & set(node.cpus)]
        if groups:
            parts.append(_cache(cache, groups, len(node.cpus)))
    return ", ".join(parts)


def _cache(cache: Cache, groups: list[tuple[int, ...]], cpus: int) -> str:
    name = "memory-side cache" if cache.kind == "memory-side" else f"L{cache.level}"
    text = f"{name} {bytes_text(cache.bytes)}"
    if cache.level < 3 and len(groups) > 1:
        return text
    if len(groups) > 1:
        return f"{len(groups)} x {text}"
    return f"{text} (shared)" if len(groups[0]) > cpus else text


def provenance_text(provenance: Provenance) -> str:
    """One line: `measured 2026-11-21: numascape machine probe`."""
    words = " ".join(part for part in (provenance.kind, provenance.date) if part)
    return f"{words}: {provenance.source}" if provenance.source else words
