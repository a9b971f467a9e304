# SPDX-License-Identifier: Apache-2.0
"""Events that sample accesses: those of this processor, page faults, and the clock of a thread.

The kernel describes the events of a processor below /sys/bus/event_source/devices: a number for
each kind, names of events with their fields, and the bits of each field
(Documentation/ABI/testing/sysfs-bus-event_source-devices-format).

The clock exists on every machine. Its samples have registers instead of addresses; numascape-faults
computes from these which memory the next instructions access.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from numascape.errors import NumascapeError
from numascape.recording.options import PAGE_FAULTS, TASK_CLOCK, RecordOptions

FREQUENCY: Final = 1000
"""Samples per second, CPU and event, unless asked for. A sample costs some microseconds."""
RUNNING_FREQUENCY: Final = 250
"""The same for the clock of a process that runs already; its CPU time must hardly grow."""
THREADS_FREQUENCY: Final = 100
"""The same, if the kernel permits only samples of each thread. The kernel then starts and stops a
timer at each switch between threads. This is cheap if another timer expires before it."""
# Added to the clock's period: 1 000 003 is a prime number, so it matches no period of a program.
_NOT_ROUND_NS: Final = 3
_DEVICES: Final = "sys/bus/event_source/devices"
# Intel: cores of one kind, or of two. Loads that take some cycles, and stores (PEBS).
_INTEL: Final = ("cpu", "cpu_core")
_INTEL_EVENTS: Final = ("mem-loads", "mem-stores")
# AMD: instructions; those that access memory have addresses (IBS).
_AMD: Final = "ibs_op"
# From linux/perf_event.h.
_SOFTWARE, _SOFTWARE_TASK_CLOCK, _SOFTWARE_PAGE_FAULTS = 1, 1, 2
_PLACE: Final = re.compile(r"(config1?):([0-9]{1,2})(?:-([0-9]{1,2}))?")
_LAST_BIT: Final = 63
_PRECISE: Final = 2  # the address is that of the counted instruction


@dataclass(frozen=True)
class SampledEvent:
    """An event for perf_event_open(2); with a `frequency` of 0, each `period`-th is a sample.

    With a `period_of_threads`, the clock of each CPU is sampled. If the kernel does not permit
    this, the clock of each thread is sampled with this other period.
    """

    name: str
    kind: int
    config: int
    config1: int = 0
    precise: int = 0
    frequency: int = FREQUENCY
    period: int = 0
    period_of_threads: int = 0

    @property
    def words(self) -> str:
        """The argument for numascape-faults."""
        numbers = [self.kind, self.config, self.config1, self.precise, self.frequency, self.period]
        if self.period_of_threads:
            numbers.append(self.period_of_threads)
        return ":".join(map(str, numbers))


def hardware_events(root: Path = Path("/")) -> list[SampledEvent]:
    """The events of this processor; none if it has none, as in most virtual machines."""
    devices = root / _DEVICES
    found = [
        event
        for device in _INTEL
        for name in _INTEL_EVENTS
        if (event := _named(devices / device, name)) is not None
    ]
    kind = _number(devices / _AMD / "type")
    if kind is not None:
        found.append(SampledEvent(_AMD, kind, 0))
    return found


def chosen_events(options: RecordOptions, root: Path = Path("/")) -> list[SampledEvent]:
    """The events of the options; without a name, the processor's, or the clock if it has none.

    Raises NumascapeError if there is no event of this name.
    """
    name, frequency = options.event, options.frequency or FREQUENCY
    if name == PAGE_FAULTS:
        return [SampledEvent(name, _SOFTWARE, _SOFTWARE_PAGE_FAULTS, frequency=0, period=1)]
    clock = SampledEvent(
        TASK_CLOCK, _SOFTWARE, _SOFTWARE_TASK_CLOCK, frequency=0, period=_period(frequency)
    )
    if name == TASK_CLOCK:
        return [clock]
    events = [replace(event, frequency=frequency) for event in hardware_events(root)]
    if name is None:
        return events or [clock]
    if named := [event for event in events if event.name == name]:
        return named
    raise NumascapeError(
        f"this processor, or this virtual machine, has no event {name[:40]!r} that samples the "
        f"addresses of accesses (PEBS of Intel, IBS of AMD): use --event {TASK_CLOCK}"
    )


def events_of_running(options: RecordOptions, root: Path = Path("/")) -> list[SampledEvent]:
    """The events of a process that runs already: its clock is sampled at low frequencies."""
    asked = options.frequency
    return [
        replace(
            event,
            period=_period(asked or RUNNING_FREQUENCY),
            period_of_threads=_period(asked or THREADS_FREQUENCY),
        )
        if event.name == TASK_CLOCK
        else event
        for event in chosen_events(options, root)
    ]


def _period(frequency: int) -> int:
    """The period of the clock in ns, for this frequency."""
    return round(1e9 / frequency) + _NOT_ROUND_NS


def _named(device: Path, name: str) -> SampledEvent | None:
    """An event that the kernel describes as `event=0xcd,umask=0x1,ldlat=3`."""
    kind = _number(device / "type")
    text = _text(device / "events" / name)
    if kind is None or text is None:
        return None
    configs = {"config": 0, "config1": 0}
    for word in text.strip().split(","):
        field, _, value = word.partition("=")
        place = _PLACE.fullmatch((_text(device / "format" / field) or "").strip())
        if place is None or not re.fullmatch(r"0x[0-9a-f]{1,16}|[0-9]{1,18}|", value):
            return None
        first, last = int(place[2]), int(place[3] or place[2])
        bits = int(value, 0) if value else 1  # a field alone is set
        if bits >> max(0, last + 1 - first) or last > _LAST_BIT:
            return None
        configs[place[1]] |= bits << first
    return SampledEvent(name, kind, configs["config"], configs["config1"], _PRECISE)


def _number(path: Path) -> int | None:
    text = (_text(path) or "").strip()
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else None


def _text(path: Path) -> str | None:
    try:
        return path.read_text(errors="replace")
    except (OSError, ValueError):
        return None
