# SPDX-License-Identifier: Apache-2.0
"""Chooses the reader for a file."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from numascape.balance.formats.bounded import read_bytes
from numascape.balance.formats.csv_tables import read_csv_folder, read_matrix
from numascape.balance.formats.lbaf import LBAF_NAME, read_lbaf
from numascape.balance.formats.lbdump import MAGIC, read_lbdump
from numascape.balance.formats.metis_graph import read_metis
from numascape.balance.formats.scotch_graph import read_scotch
from numascape.balance.formats.task_document import read_document
from numascape.balance.graph import TaskGraph
from numascape.errors import NumascapeError

Reader = Callable[[Path, int], TaskGraph]

FORMATS: Final[dict[str, Reader]] = {
    "json": read_document,
    "csv": read_csv_folder,
    "matrix": read_matrix,
    "lbdump": read_lbdump,
    "lbaf": read_lbaf,
    "metis": read_metis,
    "scotch": read_scotch,
}
"""Readers by format: from a file and the number of cores. If the file has no mapping, tasks are
assigned to the cores in equal blocks."""

_BY_SUFFIX: Final = {".json": "json", ".csv": "matrix", ".graph": "metis", ".metis": "metis",
                     ".grf": "scotch", ".src": "scotch"}  # fmt: skip


def read_graph(path: Path, cores: int, form: str | None = None) -> TaskGraph:
    """Read the tasks of a file, or of a folder with tasks.csv; NumascapeError says what is wrong.

    Unless `form` names the format, it is derived from the file's first bytes and its name.
    """
    form = form or format_of(path)
    if form not in FORMATS:
        raise NumascapeError(f"there is no format {form!r}: choose one of {', '.join(FORMATS)}")
    return FORMATS[form](path, cores)


def format_of(path: Path) -> str:
    """Derive the format from a file's first bytes and its name. Raises NumascapeError."""
    if path.is_dir():
        return "csv"
    try:
        with path.open("rb") as file:
            start = file.read(256)
    except OSError as error:
        raise NumascapeError(f"cannot read {path}: {error.strerror}") from error
    if start.startswith(MAGIC):
        return "lbdump"
    if start.lstrip()[:1] != b"{":
        start = read_bytes(path)[:4096]  # it may be compressed
    if start.lstrip()[:1] == b"{" and (
        path.suffix in (".br", ".gz") or re.search(LBAF_NAME, path.name)
    ):
        return "lbaf"
    named = _BY_SUFFIX.get(path.suffix.lower())
    if named is None:
        raise NumascapeError(
            f"{path}: the format is unknown: give --format with one of {', '.join(FORMATS)}"
        )
    return named
