# SPDX-License-Identifier: Apache-2.0
"""Notes about a snapshot for its reader: what was estimated, and what is unknown."""

from __future__ import annotations

from numascape.live.snapshot import Snapshot
from numascape.live.structures import swapped_bytes
from numascape.quantities import bytes_text


def notes_of(snapshot: Snapshot) -> list[str]:
    """Memory in swap, what was estimated, and what this kernel does not report."""
    notes = []
    swapped = swapped_bytes(snapshot)
    if swapped:
        notes.append(f"{bytes_text(swapped)} more are in swap")
    if snapshot.every > 1:
        notes.append(
            f"estimated: one block of 2 MiB in {snapshot.every} was examined; --exact examines all"
        )
    if not snapshot.huge_told:
        notes.append(
            "this kernel does not report which pages are transparent huge pages (Linux 6.7 does)"
        )
    return notes
