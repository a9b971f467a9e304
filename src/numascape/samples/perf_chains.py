# SPDX-License-Identifier: Apache-2.0
"""The call chains of perf: offsets in files become addresses of the program."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from typing import Final

from numascape.samples.events import (
    UNKNOWN_CALLERS,
    Event,
    Forked,
    NameGiven,
    RangeMapped,
    Sample,
)
from numascape.samples.perf_text import Chain, Parsed

_KERNEL: Final = 1 << 63  # on each architecture, a program's addresses have at most 56 bits

_Files = dict[str, list[RangeMapped]]


def with_calls(parsed: Parsed) -> list[Event]:
    """The events; samples with a chain have their calls, and their code address."""
    mapped: dict[int, _Files] = defaultdict(lambda: defaultdict(list))
    events: list[Event] = []
    for number, event in enumerate(parsed.events):
        if isinstance(event, RangeMapped):
            mapped[event.pid][event.path].append(event)
        elif isinstance(event, Forked) and event.pid != event.parent_pid:
            parent = mapped[event.parent_pid]
            mapped[event.pid] = defaultdict(list, {path: [*own] for path, own in parent.items()})
        elif isinstance(event, NameGiven) and event.executed:
            mapped.pop(event.pid, None)
        chain = parsed.chains.get(number)
        if chain and isinstance(event, Sample):
            events.append(_with_chain(event, chain, mapped[event.pid]))
        else:
            events.append(event)
    return events


def _with_chain(sample: Sample, chain: Chain, files: _Files) -> Sample:
    """The sample with the addresses of its chain, up to the first that is in no file."""
    first, *callers = (_address(number, file, files) for number, file in chain)
    calls: list[int] = []
    for address in callers:
        if address is None:
            calls.append(UNKNOWN_CALLERS)
            break
        if address < _KERNEL:
            calls.append(address - 1)  # the return address is behind the call
    return dataclasses.replace(sample, pc=first or 0, calls=tuple(calls))


def _address(number: int, file: str, files: _Files) -> int | None:
    """The address of the code at offset `number` of a file, or of the kernel; None: unknown."""
    if number >= _KERNEL:
        return number
    for mapping in reversed(files.get(file, [])):
        if mapping.offset <= number < mapping.offset + mapping.end - mapping.start:
            return number - mapping.offset + mapping.start
    return None
