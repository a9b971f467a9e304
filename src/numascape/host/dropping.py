# SPDX-License-Identifier: Apache-2.0
"""Drops all clean page cache of the host, as root."""

from __future__ import annotations

import os
from pathlib import Path

from numascape.errors import NumascapeError


def drop_caches(root: Path) -> None:
    """Write dirty pages, then free all clean page cache and slab caches (drop_caches of proc(5)).

    Raises NumascapeError if this is not permitted, as in most containers.
    """
    os.sync()
    path = root / "proc/sys/vm/drop_caches"
    try:
        path.write_text("3\n")
    except OSError as error:
        raise NumascapeError(
            f"{path} cannot be written ({error.strerror}): use numascape host sweep"
        ) from error
