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
_COMPRESSED: Final = (".br", ".gz")

_JSON_NAMES: Final = re.compile(rb'"(phases|format)"\s*:')
"""vt and LBAF have `phases`; our documents have `format`."""


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
    content = start if start.lstrip()[:1] == b"{" else read_bytes(path)  # it may be compressed
    if content.lstrip()[:1] == b"{":
        return _json_format(content, path)
    name = path.with_suffix("") if path.suffix in _COMPRESSED else path
    named = _BY_SUFFIX.get(name.suffix.lower())
    if named is None:
        raise NumascapeError(
            f"{path}: the format is unknown: give --format with one of {', '.join(FORMATS)}"
        )
    return named


def _json_format(start: bytes, path: Path) -> str:
    """The format of a JSON document, whatever the file's name: by its names of values.

    They may come after long lists, so the whole file is searched if its start has none of them.
    """
    found = _JSON_NAMES.search(start) or _JSON_NAMES.search(read_bytes(path))
    if found is not None:
        return "lbaf" if found[1] == b"phases" else "json"
    return "lbaf" if re.search(LBAF_NAME, path.name) else "json"
