# SPDX-License-Identifier: Apache-2.0
"""Starts the native probe, reads its measurements, and rejects unreliable ones."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import TypeAdapter, ValidationError

from numascape.errors import NumascapeError
from numascape.installation import installed_file
from numascape.machine.statistics import Estimate, estimate

_SECONDS: Final = 600


@dataclass(frozen=True)
class Setting:
    """The node of the probe's memory, as the kernel reports it, and its share in huge pages."""

    instructions: str
    bound: bool
    known: bool
    pages: int
    elsewhere: int
    huge_bytes: int
    all_bytes: int


@dataclass(frozen=True)
class Point:
    """The samples at one size or delay, in ns or GB/s; `load_gb_s` is the load meanwhile."""

    at: float
    samples: tuple[float, ...]
    load_gb_s: float
    interrupted: int

    @property
    def estimate(self) -> Estimate:
        """Median and confidence interval of the samples."""
        return estimate(self.samples)


@dataclass(frozen=True)
class ProbeRun:
    """One run of the probe."""

    setting: Setting
    points: tuple[Point, ...]


_SETTING: Final = TypeAdapter(Setting)
_POINT: Final = TypeAdapter(Point)


def run_probe(kind: str, **options: object) -> ProbeRun:
    """Run the probe; see probe.cpp for its options. Lists are joined by commas.

    Raises NumascapeError if it fails.
    """
    command = [str(installed_file("_machine/probe")), kind]
    for name, value in options.items():
        if value is not None:
            command += [f"--{name.replace('_', '-')}", _word(value)]
    try:
        result = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NumascapeError(f"the probe did not end within {_SECONDS} s") from error
    if result.returncode != 0:
        reason = result.stderr.strip() or f"it ended with status {result.returncode}"
        raise NumascapeError(f"the probe failed: {reason[:200]}")
    setting, *points = result.stdout.splitlines()
    try:
        return ProbeRun(
            _SETTING.validate_json(setting), tuple(_POINT.validate_json(line) for line in points)
        )
    except ValidationError as error:
        raise NumascapeError("the probe's output is damaged: install Numascape again") from error


def check_placement(measured: ProbeRun, node: int, alone: bool) -> None:
    """Raise NumascapeError unless the kernel reports that the memory was on the node.

    `alone`: the machine has no other node, so the memory cannot be elsewhere.
    """
    setting = measured.setting
    if setting.elsewhere:
        raise NumascapeError(
            f"{setting.elsewhere} of {setting.pages} pages were not on node {node}: it has not "
            "enough free memory, or a cpuset forbids it"
        )
    if not setting.known and not alone:
        raise NumascapeError(
            "the kernel does not say on which node memory is (move_pages is not permitted): in a "
            "container, allow it or add the capability SYS_NICE"
        )
    if not setting.bound and not alone:
        raise NumascapeError(
            f"memory cannot be bound to node {node} (mbind is not permitted): in a container, "
            "allow it or add the capability SYS_NICE"
        )


def _word(value: object) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ",".join(map(str, value))
    return str(value)
