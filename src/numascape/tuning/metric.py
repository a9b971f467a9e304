# SPDX-License-Identifier: Apache-2.0
"""The user's own measure of a program: a command whose last line of output is a number."""

from __future__ import annotations

import math
import os
import signal
import statistics
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from numascape.errors import NumascapeError

# A signal ends the waiting for the command within this time.
_LOOK_S: Final = 0.1


@dataclass(frozen=True)
class Metric:
    """A shell command, how often it runs, and whether a larger number is better."""

    command: str
    runs: int
    higher_is_better: bool = True


@dataclass(frozen=True)
class Measured:
    """The numbers of all runs."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median run."""
        return statistics.median(self.values)


def measure_metric(metric: Metric, is_stopped: Callable[[], bool]) -> Measured | None:
    """Run the command; None if it was stopped. Raises NumascapeError if it gives no number."""
    values = []
    for _ in range(metric.runs):
        if is_stopped():
            return None
        ran = _run(metric.command, is_stopped)
        if ran is None:
            return None
        status, output = ran
        if status != 0:
            raise NumascapeError(
                f"--metric: the command ended with status {status}: {metric.command[:80]}"
            )
        values.append(_number(output, metric.command))
    return Measured(tuple(values))


def _run(command: str, is_stopped: Callable[[], bool]) -> tuple[int, str] | None:
    """The command's status and output; None if it was stopped."""
    with subprocess.Popen(
        command, shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        errors="replace", start_new_session=True,
    ) as process:  # fmt: skip
        while not is_stopped():
            try:
                output, _ = process.communicate(timeout=_LOOK_S)
            except subprocess.TimeoutExpired:
                continue
            return (process.returncode, output) if not is_stopped() else None
        # The signal goes to the whole group: to the shell, and to the programs that it started.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        return None


def _number(output: str, command: str) -> float:
    lines = output.split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    try:
        value = float(last)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise NumascapeError(
            f"--metric: the last line of the output must be a number, but is {last[:40]!r}: "
            f"{command[:80]}"
        )
    return value


def is_worse(metric: Metric, before: Measured, after: Measured) -> bool:
    """Whether the median after the change is worse than each run before it.

    Runs differ by chance: a median inside the range of the runs before is no evidence.
    """
    if metric.higher_is_better:
        return after.median < min(before.values)
    return after.median > max(before.values)
