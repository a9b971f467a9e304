# SPDX-License-Identifier: Apache-2.0
"""Finds what is installed: the version, and the files of the package that are not Python."""

from importlib.util import find_spec
from pathlib import Path

from numascape.errors import NumascapeError


def installed_version() -> str:
    """The version of Numascape, from its metadata."""
    # Imported here: reading the metadata takes longer than compiling a small file with
    # numascape-cc.
    from importlib.metadata import version

    return version("numascape")


def installed_file(name: str) -> Path:
    """The path of `name`, relative to the package: "report/viewer.html", "_recorder".

    Raises NumascapeError if the installation does not have it.
    """
    package = find_spec("numascape")
    # An editable installation has two folders: the sources, and the built files.
    for folder in (package and package.submodule_search_locations) or ():
        path = Path(folder) / name
        if path.exists():
            return path
    raise NumascapeError(
        f"this installation of Numascape lacks {name}: install it again with pip install"
    )
