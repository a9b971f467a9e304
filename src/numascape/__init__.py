# SPDX-License-Identifier: Apache-2.0
"""See how a program uses memory on a NUMA machine, and learn why that is slow."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

from numascape.errors import NumascapeError

if TYPE_CHECKING:
    import os

    from numascape.trace.trace import Trace

__version__ = version("numascape")
__all__ = ["NumascapeError", "__version__", "open"]


def open(path: str | os.PathLike[str]) -> Trace:
    """Open the trace in the folder `path`; its tables are read when they are first used.

    Raises NumascapeError when it is no trace, damaged, or of a version that this one cannot read.
    """
    # Imported here, because the data frames take longer to load than most verbs run.
    from numascape.trace.trace import Trace

    return Trace.read(path)
