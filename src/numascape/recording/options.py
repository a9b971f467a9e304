# SPDX-License-Identifier: Apache-2.0
"""The options of a recording, from the command line or Python."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Final, Literal

from numascape.errors import NumascapeError
from numascape.recording.modelled_cache import ModelledCache, cache_of_this_host, parse_cache

RecorderName = Literal["binary", "compiled", "faults", "samples", "damon"]
PhaseKind = Literal["all", "regions", "marks", "none"]

_SHORTEST_SLICE_S = 0.01
_HIGHEST_FREQUENCY: Final = 20_000
"""A sample needs some microseconds of a CPU."""

TASK_CLOCK: Final = "task-clock"
"""The name that perf gives to the CPU time of a thread: an event of every machine."""


PAGE_FAULTS: Final = "page-faults"


@dataclass(frozen=True)
class RecordOptions:
    """The options of one recording.

    If `recorder` is None, Numascape chooses it. `stack`: accesses relative to the stack pointer are
    counted. `lines`: source lines are found. `phases` is what begins a phase (`all`: parallel
    regions and marks). With `every_s`, phases are time slices of this many seconds instead. With a
    `cache`, memory traffic is counted, too. `event` is what the samples recorder samples; None: the
    processor's events of memory, or TASK_CLOCK if it has none.
    `frequency` is the number of samples in a second of CPU time; None: 1000, or fewer of a running
    process.

    Raises NumascapeError if the options contradict each other.
    """

    recorder: RecorderName | None = None
    stack: bool = True
    lines: bool = True
    phases: PhaseKind = "all"
    every_s: float | None = None
    cache: ModelledCache | None = None
    event: str | None = None
    frequency: int | None = None

    def __post_init__(self) -> None:
        if self.every_s is not None and not _SHORTEST_SLICE_S <= self.every_s < float("inf"):
            raise NumascapeError(
                f"a phase cannot have {self.every_s:g} seconds: use at least {_SHORTEST_SLICE_S}"
            )
        if self.cache is not None and self.recorder not in (None, "binary"):
            raise NumascapeError(
                f"the {self.recorder} recorder cannot count memory traffic: leave out "
                "--traffic, or use --recorder binary"
            )

        if self.event is not None and self.recorder != "samples":
            raise NumascapeError("--event needs --recorder samples: only it samples events")
        if self.frequency is not None:
            self._check_frequency(self.frequency)

    def _check_frequency(self, frequency: int) -> None:
        if self.recorder != "samples":
            raise NumascapeError("--frequency needs --recorder samples: only it samples events")
        if self.event == PAGE_FAULTS:
            raise NumascapeError(
                f"--event {PAGE_FAULTS} samples every fault: leave out --frequency"
            )
        if not 1 <= frequency <= _HIGHEST_FREQUENCY:
            raise NumascapeError(
                f"{frequency} samples per second are not possible: use 1 to {_HIGHEST_FREQUENCY}"
            )

    @property
    def records_regions(self) -> bool:
        """Whether each parallel region is a phase."""
        return self.every_s is None and self.phases in ("all", "regions")

    @property
    def records_marks(self) -> bool:
        """Whether the program's marks begin phases."""
        return self.every_s is None and self.phases in ("all", "marks")

    def document(self) -> dict[str, Any]:
        """The options for the trace, which has the recorder in another field."""
        return {
            name: value
            for name, value in dataclasses.asdict(self).items()
            if name != "recorder" and value is not None
        }


def choose_cache(traffic: bool, cache: str | None) -> ModelledCache | None:
    """The cache to model for `traffic`: the text `cache`, or by default this machine's cache.

    Raises NumascapeError if it cannot be modelled, or if it is given without `traffic`.
    """
    if not traffic:
        if cache is not None:
            raise NumascapeError("--cache needs --traffic: only --traffic models a cache")
        return None
    return parse_cache(cache) if cache is not None else cache_of_this_host()
