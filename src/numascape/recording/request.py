# SPDX-License-Identifier: Apache-2.0
"""The request of the command line or Python: what to record, and where the trace goes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from numascape.errors import NumascapeError
from numascape.recording.launchers import Launch
from numascape.recording.options import RecordOptions


@dataclass(frozen=True)
class RecordRequest:
    """A request to record: either `program` or `pid` for `seconds` (None: until it ends).

    With `measure_cost`, the program first runs once without recording. `launch` is the place of
    this process in a job, and `ranks` the list of the ranks that are recorded; None: all. Unless it
    is `quiet`, a terminal shows what was counted so far.

    Raises NumascapeError if this cannot be asked for.
    """

    program: list[str]
    output: Path | None = None
    options: RecordOptions = field(default_factory=RecordOptions)
    pid: int | None = None
    seconds: float | None = None
    measure_cost: bool = False
    launch: Launch | None = None
    ranks: str | None = None
    quiet: bool = False

    def __post_init__(self) -> None:
        if self.pid is None and not self.program:
            raise NumascapeError("no program given: use numascape record -- PROGRAM, or --pid PID")
        if self.pid is not None and self.program:
            raise NumascapeError("give either a program or --pid, not both")
        if self.seconds is not None and self.pid is None:
            raise NumascapeError("--seconds needs --pid: a program is recorded until it ends")
        if self.seconds is not None and not 0 < self.seconds < float("inf"):
            raise NumascapeError(f"--seconds {self.seconds:g}: must be more than 0")
        if self.measure_cost:
            self._check_two_runs()

    def _check_two_runs(self) -> None:
        if self.pid is not None:
            raise NumascapeError(
                "--measure-cost runs the program twice, so it cannot be used with --pid"
            )
        if self.launch is not None and self.launch.size != 1:
            raise NumascapeError(
                "--measure-cost runs the program twice, so it cannot be used in a job: run the job "
                "twice yourself and compare the times"
            )

    @property
    def shows_status(self) -> bool:
        """Whether a terminal shows what was counted so far; not in a job, whose ranks share one."""
        return not self.quiet and self.launch is None
