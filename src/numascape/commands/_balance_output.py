# SPDX-License-Identifier: Apache-2.0
"""The files that the verb `balance` writes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from numascape.commands._written import check_folders

if TYPE_CHECKING:
    from numascape.balance import Balanced, Problem


def is_vt_mapping(output: Path, graph: Path, form: str | None) -> bool:
    """Whether the mapping is written in vt's format: if vt wrote the tasks, and the name fits."""
    from numascape.balance.formats import format_of
    from numascape.balance.formats.lbaf import LBAF_NAME

    return re.match(LBAF_NAME, output.name) is not None and (form or format_of(graph)) == "lbaf"


def check_files(
    mapping: Path | None, vt: bool, picture: Path | None, timeline: Path | None
) -> None:
    """Raise NumascapeError, before any work, if a file cannot be written because of its name."""
    if mapping is not None and not vt:
        from numascape.balance.formats import check_mapping_name

        check_mapping_name(mapping)
    if picture is not None and picture.suffix.lower() != ".html":
        from numascape.figures.balance_picture import check_balance_picture

        check_balance_picture(picture)
    if timeline is not None:
        from numascape.figures.timeline_picture import check_timeline

        check_timeline(timeline)
    check_folders(mapping, picture, timeline)


def write_mapping_files(
    output: Path, vt_tasks: Path | None, problem: Problem, balanced: Balanced
) -> list[Path]:
    """Write the mapping; in vt's format if vt wrote the tasks. Raises NumascapeError."""
    from numascape.balance.formats import write_lbaf_mapping, write_mapping

    if vt_tasks is not None:
        return write_lbaf_mapping(output, vt_tasks, balanced.mapping)
    write_mapping(output, problem.graph, problem.target, balanced)
    return [output]
