# SPDX-License-Identifier: Apache-2.0
"""Text for parts of a machine: the caches of a node, provenance."""

from __future__ import annotations

from numascape.machine.description import Cache, Machine, MachineNode, Provenance
from numascape.quantities import bytes_text


def cache_text(machine: Machine, node: MachineNode) -> str:
    """The node's data caches: `L1 32 KiB, L2 1 MiB, 2 x L3 32 MiB`."""
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
