# SPDX-License-Identifier: Apache-2.0
"""See how a program uses memory on a NUMA machine, learn why it is slow, and fix it.

import numascape

trace = numascape.open("run.numascape")      # or numascape.record(["./program", "1000"])
trace                                        # what ran, where, and what was counted
trace.summary()                              # one row per structure, a Polars data frame
trace.findings(machine="xeon-x7550")         # what is wrong, and how to fix it
trace.plot.access("A")                       # a figure for a paper
"""

from __future__ import annotations

from numascape.errors import NumascapeError

TYPE_CHECKING = False  # typing has it too, but importing typing would take most of the time here
if TYPE_CHECKING:
    import os
    from typing import Any

    from numascape.api.job import Job
    from numascape.api.opened_trace import OpenedTrace
    from numascape.api.recording import record
    from numascape.api.regions import region, region_end

__version__: str
__all__ = [
    "Job",
    "NumascapeError",
    "OpenedTrace",
    "__version__",
    "open",
    "record",
    "region",
    "region_end",
]


# Any stands for Job: most callers open a trace, and need not check that it is no Job.
def open(path: str | os.PathLike[str]) -> OpenedTrace | Any:
    """Open the trace or the job in the folder `path`. Its files are read when they are needed.

    Raises NumascapeError if it is neither, is damaged, or has a newer version of the format.
    """
    # Imported here, because the data frames take longer to load than most verbs run.
    from pathlib import Path

    from numascape.trace.job import is_job

    if is_job(Path(path)):
        from numascape.api.job import Job

        return Job(path)
    from numascape.api.opened_trace import OpenedTrace

    return OpenedTrace.read(path)


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> object:
    # Loaded when they are first used, because most verbs need none of them.
    if name == "__version__":
        from numascape.installation import installed_version

        return installed_version()
    if name == "OpenedTrace":
        from numascape.api.opened_trace import OpenedTrace

        return OpenedTrace
    if name == "Job":
        from numascape.api.job import Job

        return Job
    if name == "record":
        from numascape.api.recording import record

        return record
    if name in {"region", "region_end"}:
        from numascape.api import regions

        return getattr(regions, name)
    raise AttributeError(f"module 'numascape' has no attribute {name!r}")
