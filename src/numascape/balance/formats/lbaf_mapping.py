# SPDX-License-Identifier: Apache-2.0
"""Writes a mapping for vt: its own files with one more phase, in which the tasks have migrated.

vt's OfflineLB compares each phase with the next one and migrates the tasks whose rank differs.
"""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any, Final

import brotli

from numascape.atomic import replacing_file
from numascape.balance.formats.bounded import read_bytes
from numascape.balance.formats.lbaf import LBAF_NAME, last_common_phase, rank_files
from numascape.balance.graph import Cores
from numascape.errors import NumascapeError

# This quality of Brotli is low and fast. The best one takes minutes for large files.
_QUALITY: Final = 5

Document = dict[str, Any]


def write_lbaf_mapping(path: Path, source: Path, mapping: Cores) -> list[Path]:
    """Write a file for each rank of `source`, named like `path` with the rank; return the files.

    `mapping` has the tasks in the order of read_lbaf. Phases after the one that read_lbaf takes are
    left out; everything else stays the same. Raises NumascapeError, and OSError.
    """
    named = re.match(LBAF_NAME, path.name)
    if named is None:
        raise NumascapeError(f"{path} is not named as vt's files are, such as mapped.0.json")
    last = last_common_phase(source)
    ranks = {rank: json.loads(read_bytes(file)) for rank, file in rank_files(source).items()}
    if len(mapping) and int(mapping.max()) not in ranks:
        raise NumascapeError(
            f"tasks go to core {int(mapping.max())}, but {source} has ranks 0 to {max(ranks)}: "
            "give a --machine with as many cores"
        )
    _add_phase(ranks, last, mapping)
    written = []
    for rank, document in ranks.items():
        text = json.dumps(document).encode()
        file = path.with_name(f"{named['stem']}.{rank}.json{named[3] or ''}")
        with replacing_file(file) as beside:
            beside.write_bytes(_compressed(text, named[3]))
        written.append(file)
    return written


def _compressed(text: bytes, suffix: str | None) -> bytes:
    if suffix == ".br":
        return bytes(brotli.compress(text, quality=_QUALITY))
    return gzip.compress(text, mtime=0) if suffix == ".gz" else text


def _add_phase(ranks: dict[int, Document], last: int, mapping: Cores) -> None:
    """Add phase `last` + 1 to each rank's document, with the tasks that are mapped to the rank."""
    added: dict[int, Document] = {rank: {"id": last + 1, "tasks": []} for rank in ranks}
    goes_to = iter(mapping.tolist())
    for _, document in sorted(ranks.items()):
        phase = next(phase for phase in document["phases"] if phase["id"] == last)
        for task in phase["tasks"]:
            rank = next(goes_to)
            added[rank]["tasks"].append({**task, "node": rank})
    for rank, document in ranks.items():
        kept = [phase for phase in document["phases"] if phase["id"] <= last]
        document["phases"] = [*kept, added[rank]]
