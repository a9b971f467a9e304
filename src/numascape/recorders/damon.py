# SPDX-License-Identifier: Apache-2.0
"""DAMON, the kernel's monitor of accesses, controlled by its files in sysfs.

A thread of the kernel clears the accessed bit of one page in each region of addresses, and looks at
the bit after `SAMPLE_US`. It divides and joins regions by how often it found the bit set
(Documentation/admin-guide/mm/damon/usage.rst).
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from numascape.errors import NumascapeError
from numascape.live.targets import TargetProcess

ADMIN: Final = "sys/kernel/mm/damon/admin/kdamonds"
SAMPLE_US: Final = 10_000
CHECKS: Final = 20
"""The number of checks of each region in one aggregation; `accesses` is at most this number."""
MAX_REGIONS: Final = 200
MAX_COST: Final = 0.02
"""The largest cost, as a share of one CPU. A check takes about 1 us, on slow processors more."""
_MAX_SAMPLE_US: Final = 50_000
MAX_FIRST: Final = MAX_REGIONS // 2
"""If there are more regions than this, the kernel divides none."""
# The largest values of the kernel's types.
_ANY: Final = {"sz": (1 << 64) - 1, "nr_accesses": (1 << 32) - 1, "age": (1 << 32) - 1}

Numbers = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Regions:
    """Regions of addresses, ascending, and in how many of the last `CHECKS` each was accessed."""

    starts: Numbers
    ends: Numbers
    accesses: Numbers


class Monitor:
    """DAMON while it watches one process. `sample_us` is the time between two checks."""

    def __init__(self, kdamond: Path, root: Path) -> None:
        self._kdamond = kdamond
        self._root = root
        self.sample_us = SAMPLE_US
        self._began = time.monotonic()

    @property
    def aggregation_s(self) -> float:
        """After this time, the kernel has new numbers."""
        return CHECKS * self.sample_us / 1e6

    def _cpu_s(self) -> float:
        """The CPU time of the kernel's thread; 0 if it is not known."""
        pid = _read(self._kdamond / "pid")
        words = _read(self._root / "proc" / pid / "schedstat").split() if pid.isdecimal() else []
        return int(words[0]) / 1e9 if words and words[0].isdecimal() else 0.0

    def cost(self) -> float:
        """The part of a CPU that the kernel's thread has needed since it began."""
        return self._cpu_s() / max(time.monotonic() - self._began, 1e-3)

    def check_less_often(self) -> None:
        """Check less often if the cost exceeds `MAX_COST`. The kernel begins with new regions."""
        times = min(math.ceil(self.cost() / MAX_COST), _MAX_SAMPLE_US // self.sample_us)
        if times <= 1:
            return
        self.sample_us *= times
        with suppress(OSError):  # the process has ended
            _write(self._kdamond / "state", "off")
            _set_intervals(self._kdamond, self.sample_us)
            _write(self._kdamond / "state", "on")
            self._began = time.monotonic()

    def regions(self) -> Regions:
        """The regions as of the last aggregation; none if the process has ended."""
        try:
            _write(self._kdamond / "state", "update_schemes_tried_regions")
        except OSError:
            return _regions([])
        listed = (self._kdamond / "contexts/0/schemes/0/tried_regions").glob("[0-9]*")
        rows = (_numbers(folder) for folder in listed)
        return _regions(sorted(row for row in rows if row[0] < row[1]))


@contextmanager
def watching(
    target: TargetProcess, first: Sequence[tuple[int, int]] = (), root: Path = Path("/")
) -> Iterator[Monitor]:
    """Watch the process until the end of the block. Raises NumascapeError if DAMON cannot.

    `first` are the regions to begin with, ascending; by default, the kernel divides all memory.
    """
    admin = root / ADMIN
    _check_free(admin)
    try:
        _write(admin / "nr_kdamonds", "1")
    except OSError as error:
        raise NumascapeError(f"DAMON cannot be used: {error.strerror}") from error
    kdamond = admin / "0"
    try:
        _set_up(kdamond, target, first)
        yield Monitor(kdamond, root)
    finally:
        with suppress(OSError):
            _write(kdamond / "state", "off")
        with suppress(OSError):
            _write(admin / "nr_kdamonds", "0")


def _check_free(admin: Path) -> None:
    if not admin.is_dir():
        raise NumascapeError(
            "this kernel has no DAMON (CONFIG_DAMON_SYSFS, Linux 6.2 or newer): use another "
            "recorder"
        )
    if not os.access(admin / "nr_kdamonds", os.W_OK):
        raise NumascapeError("DAMON needs root: run numascape with sudo")
    count = _read(admin / "nr_kdamonds")
    used = [one for one in admin.glob("[0-9]*") if _read(one / "state") == "on"]
    if used:
        raise NumascapeError(
            f"another program uses DAMON ({used[0]}/state is on; nr_kdamonds is {count}), and only "
            "one can use it at a time: use another recorder"
        )


def _set_up(kdamond: Path, target: TargetProcess, first: Sequence[tuple[int, int]]) -> None:
    context = kdamond / "contexts/0"
    try:
        _write(kdamond / "contexts/nr_contexts", "1")
        if "vaddr" not in _read(context / "avail_operations").split():
            raise NumascapeError(
                "the DAMON of this kernel cannot watch processes (CONFIG_DAMON_VADDR): use "
                "another recorder"
            )
        _write(context / "operations", "vaddr")
        _set_intervals(kdamond, SAMPLE_US)
        # In this order, as the kernel does not allow a maximum below the minimum.
        _write(context / "monitoring_attrs/nr_regions/max", str(MAX_REGIONS))
        _write(context / "targets/nr_targets", "1")
        _write(context / "targets/0/pid_target", str(target.pid))
        regions = context / "targets/0/regions"
        _write(regions / "nr_regions", str(len(first)))
        for number, (start, end) in enumerate(first):
            _write(regions / str(number) / "start", str(start))
            _write(regions / str(number) / "end", str(end))
        # A scheme that does nothing and fits all regions: the kernel lists the regions that fit.
        _write(context / "schemes/nr_schemes", "1")
        scheme = context / "schemes/0"
        _write(scheme / "action", "stat")
        for quantity, largest in _ANY.items():
            _write(scheme / "access_pattern" / quantity / "max", str(largest))
        _write(kdamond / "state", "on")
    except OSError as error:
        if not target.is_alive:
            raise NumascapeError(f"{target} has ended") from error
        raise NumascapeError(f"DAMON cannot watch {target}: {error}") from error
    if not (context / "schemes/0/tried_regions").is_dir():
        raise NumascapeError("the DAMON of this kernel does not list its regions (Linux 6.2 does)")


def _set_intervals(kdamond: Path, sample_us: int) -> None:
    intervals = kdamond / "contexts/0/monitoring_attrs/intervals"
    # An aggregation has at least one sample, at any moment.
    _write(intervals / "aggr_us", str(CHECKS * sample_us))
    _write(intervals / "sample_us", str(sample_us))


def _regions(rows: list[tuple[int, int, int]]) -> Regions:
    columns = np.array(rows, np.uint64).reshape(-1, 3).T
    return Regions(columns[0], columns[1], columns[2])


def _numbers(folder: Path) -> tuple[int, int, int]:
    start, end, accesses = (
        int(_read(folder / name) or 0) for name in ("start", "end", "nr_accesses")
    )
    return start, end, accesses


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except (OSError, ValueError):
        return ""


def _write(path: Path, text: str) -> None:
    with path.open("w") as file:
        file.write(text)
