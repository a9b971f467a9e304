# SPDX-License-Identifier: Apache-2.0
"""A mapping as vt reads it: its own files with one phase more, in which tasks are where they go.

vt's OfflineLB compares each phase with the next one and migrates what lies on another rank there.
"""

from __future__ import annotations

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

# Quick; the best quality takes minutes for large files.
_QUALITY: Final = 5

Document = dict[str, Any]


def write_lbaf_mapping(path: Path, source: Path, mapping: Cores) -> list[Path]:
    """Write a file for each rank of `source`, named as `path` but with the rank; returns them.

    `mapping` is of the tasks in the order in which read_lbaf has them. Phases after the one that
    they are of are left out; everything else stays as it is. Raises NumascapeError, and OSError.
    """
    named = re.match(LBAF_NAME, path.name)
    if named is None:
        raise NumascapeError(f"{path} is not named as vt's files are, such as mapped.0.json")
    last = last_common_phase(source)
    ranks = {rank: json.loads(read_bytes(file)) for rank, file in rank_files(source).items()}
    if len(mapping) and int(mapping.max()) not in ranks:
        raise NumascapeError(
            f"tasks go to core {int(mapping.max())}, and {source} is of ranks 0 to {max(ranks)}: "
            "give a --machine with as many cores"
        )
    _add_phase(ranks, last, mapping)
    written = []
    for rank, document in ranks.items():
        text = json.dumps(document).encode()
        file = path.with_name(f"{named['stem']}.{rank}.json{named[3] or ''}")
        with replacing_file(file) as beside:
            beside.write_bytes(brotli.compress(text, quality=_QUALITY) if named[3] else text)
        written.append(file)
    return written


def _add_phase(ranks: dict[int, Document], last: int, mapping: Cores) -> None:
    """To each rank's document a phase `last` + 1 with the tasks that the mapping gives it."""
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
