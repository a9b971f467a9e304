# SPDX-License-Identifier: Apache-2.0
"""See how a program uses memory on a NUMA machine, and learn why that is slow."""

from __future__ import annotations

from numascape.errors import NumascapeError

TYPE_CHECKING = False  # as in typing, which takes longer to load than all that is needed here
if TYPE_CHECKING:
    import os

    from numascape.figures.opened import OpenedTrace

__version__: str
__all__ = ["NumascapeError", "__version__", "open"]


def open(path: str | os.PathLike[str]) -> OpenedTrace:
    """Open the trace in the folder `path`; its tables are read when they are first used.

    Its `plot` draws figures, e.g. `open("run.numascape").plot.access("A")`; a notebook shows it.

    Raises NumascapeError when it is no trace, damaged, or of a version that this one cannot read.
    """
    # Imported here, because the data frames take longer to load than most verbs run.
    from numascape.figures.opened import OpenedTrace

    return OpenedTrace.read(path)


def __getattr__(name: str) -> str:
    # Reading the metadata takes longer than compiling a small file with numascape-cc.
    if name == "__version__":
        from importlib.metadata import version

        return version("numascape")
    raise AttributeError(name)
