# SPDX-License-Identifier: Apache-2.0
"""The options of a recording, from the command line or Python."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypedDict

from numascape.errors import NumascapeError
from numascape.recording.modelled_cache import ModelledCache, cache_of_this_host, parse_cache
from numascape.recording.option_fields import option, values_of
from numascape.trace.info import PAGE_FAULTS

RecorderName = Literal["binary", "compiled", "faults", "samples", "damon"]
PhaseKind = Literal["all", "regions", "marks", "none"]

_SHORTEST_SLICE_S = 0.01
_SHARES: Final = (0.0001, 0.5)
"""With a larger share, counting everything costs hardly more."""
AUTO: Final = "auto"
"""The share that is as large as a cost permits, and changes during the run."""
USUAL_COST: Final = 1.15
_COSTS: Final = (1.01, 100.0)
"""The recorder cannot tell a lower cost from its own errors."""
_HIGHEST_FREQUENCY: Final = 20_000
"""A sample needs some microseconds of a CPU."""

TASK_CLOCK: Final = "task-clock"
"""The name that perf gives to the CPU time of a thread: an event of every machine."""


_OF_BINARY: Final = ("stack", "source_lines", "sample", "cost", "traffic")
"""Options that only the binary recorder uses; `cache` needs `traffic`."""
_OF_SAMPLES: Final = ("call_paths",)
"""Options with a value that only the samples recorder uses."""


def parse_share(text: str) -> float | Literal["auto"]:
    """The share of the work that --sample gives. Raises NumascapeError if it is none."""
    if text == AUTO:
        return AUTO
    try:
        return float(text)
    except ValueError:
        raise NumascapeError(f"--sample {text}: give a share of the work, or {AUTO}") from None


@dataclass(frozen=True)
class RecordOptions:
    """The options of one recording; an option is a line here, and its use in a recorder.

    `numascape record` and `numascape.record` take their names, types, defaults and help from here.
    What a user left open is None, and `decided` fills it in.

    Raises NumascapeError if the options contradict each other.
    """

    recorder: RecorderName | None = option(
        None,
        "binary: any executable. compiled: a program that numascape-cc, numascape-c++ or "
        "numascape-fc built (faster). faults: first touches only, at about 1 % overhead. "
        "samples: samples of accesses, and first touches, at about 1.2 times the CPU time. "
        "damon: with --pid, which memory is used, but not by which thread (root). "
        "Default: compiled if possible, else binary.",
    )
    stack: bool = option(
        True, "Count accesses relative to the stack pointer, or not (less overhead)."
    )
    source_lines: bool = option(
        True,
        "Record which source lines access which structure, or not (less overhead).",
        former="lines",
    )
    phases: PhaseKind | None = option(
        None,
        "What begins a phase: parallel regions of OpenMP, marks in the program "
        "(numascape/phase.h), both, or nothing.",
        default_text="all",
    )
    every: float | None = option(
        None,
        "Make each time slice of this length a phase.",
        metavar="SECONDS",
    )
    event: str | None = option(
        None,
        "With --recorder samples: mem-loads, mem-stores (Intel), ibs_op (AMD), "
        "task-clock (every machine), or page-faults. Default: all events of this processor, or "
        "task-clock if it has none.",
        metavar="EVENT",
    )
    frequency: int | None = option(
        None,
        "With --recorder samples: how many samples in a second of CPU time. "
        "Default: 1000. For the clock of a running process: 250, or 100 without privileges.",
        metavar="N",
    )
    sample: float | Literal["auto"] | None = option(
        None,
        "Count only this share of the program's work, in short bursts, and estimate the rest. "
        "Estimates have errors. With 0.01, a long run takes about 1.3 times its CPU time. "
        "auto: the share changes, to hold a cost (--cost).",
        metavar="SHARE",
        read=parse_share,
    )
    cost: float | None = option(
        None,
        "With --sample auto: the CPU time with recording, over that without. Default: "
        f"{USUAL_COST}.",
        metavar="RATIO",
    )
    call_paths: bool = option(
        True,
        "With --recorder samples: record the callers of the code of each sample, or not.",
    )
    traffic: bool = option(
        False,
        "Also count the cache lines that each thread fetches from memory and writes back, "
        "with a model of its cache (about 1.8 times the CPU time of a recording without it).",
    )
    cache: ModelledCache | None = option(
        None,
        "With --traffic: the cache of each thread. Default: the thread's share of the "
        "caches of this machine.",
        metavar="SIZE,WAYS,LINE",
        read=parse_cache,
    )

    def __post_init__(self) -> None:
        self._check_phases()
        if self.traffic and self.recorder not in (None, "binary"):
            raise NumascapeError(
                f"the {self.recorder} recorder cannot count memory traffic: leave out "
                "--traffic, or use --recorder binary"
            )
        if self.sample is not None:
            self._check_sample(self.sample)
        if self.cost is not None:
            self._check_cost(self.cost)
        if self.cache is not None and not self.traffic:
            raise NumascapeError("--cache needs --traffic: only --traffic models a cache")
        if self.event is not None and self.recorder != "samples":
            raise NumascapeError("--event needs --recorder samples: only it samples events")
        if self.frequency is not None:
            self._check_frequency(self.frequency)

    def _check_phases(self) -> None:
        if self.every is None:
            return
        if self.phases is not None:
            raise NumascapeError("--every and --phases cannot be used together")
        if not _SHORTEST_SLICE_S <= self.every < float("inf"):
            raise NumascapeError(
                f"a phase cannot have {self.every:g} seconds: use at least {_SHORTEST_SLICE_S}"
            )

    def _check_cost(self, cost: float) -> None:
        low, high = _COSTS
        if self.sample != AUTO:
            raise NumascapeError(f"--cost needs --sample {AUTO}: only it holds a cost")
        if not low <= cost <= high:
            raise NumascapeError(
                f"a cost of {cost:g} times the CPU time cannot be held: use {low:g} to {high:g}"
            )

    def _check_sample(self, share: float | Literal["auto"]) -> None:
        low, high = _SHARES
        if self.recorder not in (None, "binary"):
            raise NumascapeError(
                f"the {self.recorder} recorder cannot count a share of the work: leave out "
                "--sample, or use --recorder binary"
            )
        if self.traffic:
            raise NumascapeError(
                "--sample and --traffic cannot be used together: the modelled cache must see all "
                "accesses"
            )
        if share != AUTO and not low <= share <= high:
            raise NumascapeError(
                f"a share of {share:g} of the work cannot be counted: use {low:g} to {high:g}"
            )

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
        return self.every is None and self.phases in (None, "all", "regions")

    @property
    def records_marks(self) -> bool:
        """Whether the program's marks begin phases."""
        return self.every is None and self.phases in (None, "all", "marks")

    def decided(self, recorder: RecorderName) -> RecordOptions:
        """The options for this recorder on this machine, with what the user left open.

        Raises NumascapeError if a cache must be modelled, and those of this machine are unknown.
        """
        cache = cache_of_this_host() if self.traffic and self.cache is None else self.cache
        phases = "all" if self.phases is None and self.every is None else self.phases
        cost = USUAL_COST if self.sample == AUTO and self.cost is None else self.cost
        return dataclasses.replace(self, recorder=recorder, phases=phases, cache=cache, cost=cost)

    def document(self) -> dict[str, Any]:
        """The options for the trace, which has the recorder in another field.

        Options that this recorder does not use are left out.
        """
        unused = {"recorder"}
        unused |= set() if self.recorder == "binary" else {*_OF_BINARY}
        unused |= set() if self.recorder == "samples" else {*_OF_SAMPLES}
        return {
            name: value
            for name, value in dataclasses.asdict(self).items()
            if name not in unused and value is not None
        }


class RecordKeywords(TypedDict, total=False):
    """The options as keywords of `numascape.record`, for type checkers; a test compares both."""

    recorder: RecorderName | None
    stack: bool | None
    source_lines: bool | None
    phases: PhaseKind | None
    every: float | None
    event: str | None
    frequency: int | None
    sample: float | str | None
    cost: float | None
    call_paths: bool | None
    traffic: bool | None
    cache: str | None


def record_options(given: Mapping[str, Any]) -> RecordOptions:
    """The options of these names, with values as a user gives them: `cache` may be a text.

    Raises NumascapeError if there is no such option, or if it cannot have its value.
    """
    return RecordOptions(**values_of(RecordOptions, given))
