# SPDX-License-Identifier: Apache-2.0
"""Decides where a process of a job writes what it records, and whether it records at all."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path

from numascape.errors import NumascapeError
from numascape.recording.launchers import Launch
from numascape.trace.info import JobPart
from numascape.trace.job import first_recorded, parse_ranks, part_folder, recording_prefix


@dataclass(frozen=True)
class OutputPlace:
    """The trace or job `target`; `part` is this rank in a job, None in a trace of its own."""

    target: Path
    part: JobPart | None = None

    @property
    def written(self) -> Path:
        """The folder of the trace that this process writes."""
        return self.target if self.part is None else part_folder(self.target, self.part.rank)

    @property
    def beside(self) -> Path:
        """The beginning of the path of the folder of shards."""
        return self.target if self.part is None else recording_prefix(self.target, self.part.rank)

    @property
    def leads(self) -> bool:
        """Whether this process says what happens: in a job, only one rank does."""
        return self.part is None or self.part.rank == first_recorded(self.part.recorded)


def records(launch: Launch | None, ranks: str | None) -> bool:
    """Whether this process is recorded; NumascapeError if `ranks` makes no sense here."""
    if ranks is None:
        return True
    wanted = parse_ranks(ranks)
    if launch is None:
        raise NumascapeError(
            "--ranks needs a launcher that numbers the ranks, as in mpirun -n 4 numascape record "
            "--ranks 0 -- PROGRAM"
        )
    if launch.size is not None and wanted[-1].stop > launch.size:
        raise NumascapeError(f"--ranks {ranks[:60]}: the job has ranks 0 to {launch.size - 1} only")
    return any(launch.rank in some for some in wanted)


def place_of(output: Path, launch: Launch | None, ranks: str | None) -> OutputPlace:
    """The place for a process with this launch; `output` may have {rank}, {host} and {pid}.

    A process writes a trace of its own if no launcher started it, if it is the only rank, or if
    {rank} or {pid} in its name distinguishes the processes. Raises NumascapeError if the rank is
    not known.
    """
    text = str(output)
    if "{rank}" in text and launch is None:
        raise NumascapeError(
            f"-o {text}: no launcher has set a rank here; use {{host}} and {{pid}}, or leave out "
            "{rank}"
        )
    apart = "{rank}" in text or "{pid}" in text
    for name, value in (
        ("{rank}", "" if launch is None else str(launch.rank)),
        ("{host}", platform.node().replace("/", "_")),
        ("{pid}", str(os.getpid())),
    ):
        text = text.replace(name, value)
    if launch is None or launch.size == 1 or apart:
        return OutputPlace(Path(text))
    return OutputPlace(
        Path(text),
        JobPart(
            job=launch.job,
            rank=launch.rank,
            size=launch.size,
            launcher=launch.launcher,
            recorded=ranks or "",
            cpus=tuple(sorted(os.sched_getaffinity(0))),
        ),
    )
