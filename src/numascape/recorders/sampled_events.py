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
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Final

from numascape.errors import NumascapeError
from numascape.recording.options import TASK_CLOCK, RecordOptions
from numascape.trace.info import PAGE_FAULTS

FREQUENCY: Final = 1000
"""Samples per second, CPU and event, unless asked for. A sample costs some microseconds."""
RUNNING_FREQUENCY: Final = 250
"""The same for the clock of a process that runs already; its CPU time must hardly grow."""
THREADS_FREQUENCY: Final = 100
"""The same, if the kernel permits only samples of each thread. The kernel then starts and stops a
timer at each switch between threads. This is cheap if another timer expires before it."""
BURST_FREQUENCY: Final = 4000
"""The same in bursts, for the threads of a process that switch often. The time between bursts is so
long that the frequency above is the average."""
# Added to the clock's period: 1 000 003 is a prime number, so it matches no period of a program.
_NOT_ROUND_NS: Final = 3
# A sample copies this part of the stack, to find the callers: the frames of most functions. At
# higher frequencies it is smaller, so that as many bytes are copied in a second.
_STACK_BYTES: Final = 4096
_SMALLEST_STACK_BYTES: Final = 512
_DEVICES: Final = "sys/bus/event_source/devices"
# Intel: cores of one kind, or of two. Loads that take some cycles, and stores (PEBS).
_INTEL: Final = ("cpu", "cpu_core", "cpu_atom")
_LOADS: Final = "mem-loads"
_INTEL_EVENTS: Final = (_LOADS, "mem-stores")
# On some cores, loads are sampled only in a group that this event leads.
_LEADER: Final = "mem-loads-aux"
# AMD: instructions; those that access memory have addresses (IBS).
_AMD: Final = "ibs_op"
# The field that drops samples of the kernel, for users who may not see these (Linux 6.14).
_AMD_FILTER: Final = "swfilt"
# From linux/perf_event.h.
_SOFTWARE, _SOFTWARE_TASK_CLOCK, _SOFTWARE_PAGE_FAULTS = 1, 1, 2
_PLACE: Final = re.compile(r"(config[12]?):([0-9]{1,2})(?:-([0-9]{1,2}))?")
_LAST_BIT: Final = 63
_PRECISE: Final = 2  # the address is that of the counted instruction


@dataclass(frozen=True)
class SampledEvent:
    """An event for perf_event_open(2); with a `frequency` of 0, each `period`-th is a sample.

    With a `period_of_threads`, the clock of each CPU is sampled. If the kernel does not permit
    this, the clock of each thread is sampled with this other period. With a `period_in_bursts`,
    it is then sampled with this shorter period, but only in bursts. `filter` is the bit of config2
    that drops samples of the kernel; `leader` is the config of the event that must lead its group.
    `stack` is how many bytes of the stack a sample copies, to find the callers; 0: no callers.
    """

    name: str
    kind: int
    config: int
    config1: int = 0
    precise: int = 0
    frequency: int = FREQUENCY
    period: int = 0
    period_of_threads: int = 0
    filter: int = 0
    leader: int = 0
    period_in_bursts: int = 0
    stack: int = 0

    @property
    def words(self) -> str:
        """The argument for numascape-faults."""
        return ":".join(str(value) for value in astuple(self)[1:])


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
        # A device without this field needs no mask.
        dropping = _masks(devices / _AMD, _AMD_FILTER) or {}
        found.append(SampledEvent(_AMD, kind, 0, filter=dropping.get("config2", 0)))
    return found


def chosen_events(options: RecordOptions, root: Path = Path("/")) -> list[SampledEvent]:
    """The events of the options; without a name, the processor's, or the clock if it has none.

    Raises NumascapeError if there is no event of this name.
    """
    name, frequency = options.event, options.frequency or FREQUENCY
    if name == PAGE_FAULTS:
        # There may be a million faults in a second: too many for copies of the stack.
        return [SampledEvent(name, _SOFTWARE, _SOFTWARE_PAGE_FAULTS, frequency=0, period=1)]
    stack = _stack_bytes(frequency) if options.call_paths else 0
    clock = SampledEvent(
        TASK_CLOCK,
        _SOFTWARE,
        _SOFTWARE_TASK_CLOCK,
        frequency=0,
        period=_period(frequency),
        stack=stack,
    )
    if name == TASK_CLOCK:
        return [clock]
    found = hardware_events(root)
    events = [replace(event, frequency=frequency, stack=stack) for event in found]
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


def in_bursts(event: SampledEvent) -> SampledEvent:
    """The clock, if the kernel permits only samples of threads, in bursts; other events as is."""
    if event.name != TASK_CLOCK:
        return event
    return replace(event, period_in_bursts=_period(BURST_FREQUENCY))


def _period(frequency: int) -> int:
    """The period of the clock in ns, for this frequency."""
    return round(1e9 / frequency) + _NOT_ROUND_NS


def _stack_bytes(frequency: int) -> int:
    """How much of the stack a sample copies at this frequency; a multiple of 8, as it must be."""
    bounded = min(_STACK_BYTES, _STACK_BYTES * FREQUENCY // frequency)
    return max(_SMALLEST_STACK_BYTES, bounded // 8 * 8)


def _named(device: Path, name: str) -> SampledEvent | None:
    """An event that the kernel describes as `event=0xcd,umask=0x1,ldlat=3`."""
    kind, masks = _number(device / "type"), _described(device, name)
    leader = _described(device, _LEADER) if name == _LOADS else None
    if kind is None or masks is None:
        return None
    return SampledEvent(
        name,
        kind,
        masks.get("config", 0),
        masks.get("config1", 0),
        _PRECISE,
        leader=(leader or {}).get("config", 0),
    )


def _described(device: Path, name: str) -> dict[str, int] | None:
    text = _text(device / "events" / name)
    return None if text is None else _masks(device, text.strip())


def _masks(device: Path, description: str) -> dict[str, int] | None:
    """The bits that the fields of a description set, by register; None if it is not understood."""
    masks: dict[str, int] = {}
    for word in description.split(","):
        field, _, value = word.partition("=")
        place = _PLACE.fullmatch((_text(device / "format" / field) or "").strip())
        if place is None or not re.fullmatch(r"0x[0-9a-f]{1,16}|[0-9]{1,18}|", value):
            return None
        first, last = int(place[2]), int(place[3] or place[2])
        bits = int(value, 0) if value else 1  # a field alone is set
        if bits >> max(0, last + 1 - first) or last > _LAST_BIT:
            return None
        masks[place[1]] = masks.get(place[1], 0) | bits << first
    return masks


def _number(path: Path) -> int | None:
    text = (_text(path) or "").strip()
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else None


def _text(path: Path) -> str | None:
    try:
        return path.read_text(errors="replace")
    except (OSError, ValueError):
        return None
