# SPDX-License-Identifier: Apache-2.0
"""Notes about a snapshot for its reader: what was estimated, and what is unknown."""

from __future__ import annotations

from numascape.live.snapshot import Snapshot
from numascape.live.structures import swapped_bytes
from numascape.quantities import bytes_text


def notes_of(*snapshots: Snapshot) -> list[str]:
    """Memory in swap, what was estimated, and what this kernel does not report."""
    notes = []
    swapped = sum(swapped_bytes(snapshot) for snapshot in snapshots)
    every = max(snapshot.every for snapshot in snapshots)
    if swapped:
        notes.append(f"{bytes_text(swapped)} more are in swap")
    if every > 1:
        of_some = "" if len(snapshots) == 1 else " for processes with more than 16 GiB"
        notes.append(
            f"estimated{of_some}: one block of 2 MiB in {every} was examined; --exact examines all"
        )
    if not all(snapshot.huge_told for snapshot in snapshots):
        notes.append(
            "this kernel does not report which pages are transparent huge pages (Linux 6.7 does)"
        )
    return notes
