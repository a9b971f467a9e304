# SPDX-License-Identifier: Apache-2.0
"""Where the files that are not Python lie in the installed package."""

from pathlib import Path

import numascape
from numascape.errors import NumascapeError


def installed_file(name: str) -> Path:
    """The path of `name`, relative to the package: "report/viewer.html", "_recorder".

    Raises NumascapeError when the installation lacks it.
    """
    # An editable installation has two folders: the sources, and what was built from them.
    for folder in numascape.__path__:
        path = Path(folder) / name
        if path.exists():
            return path
    raise NumascapeError(
        f"this installation of Numascape lacks {name}: install it again with pip install"
    )
