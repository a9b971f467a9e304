# SPDX-License-Identifier: Apache-2.0
"""What `perf script` prints, as events.

The fields are those of FIELDS that the recording has, and the records of mappings, names and
threads (`--show-mmap-events --show-task-events`). The text is a stranger's: what is no such line
is passed over, and counted.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from numascape.samples.events import Event, Forked, Kind, Mapping, Named, Sample

# By the name of a sample's part in `perf evlist -v`, in the order in which they are printed.
FIELDS = {
    "TID": ("pid", "tid"),
    "CPU": ("cpu",),
    "TIME": ("time",),
    "ADDR": ("addr",),
    "DATA_SRC": ("data_src",),
    "WEIGHT": ("weight",),
    "IP": ("ip",),
    "PHYS_ADDR": ("phys_addr",),
}
# perf_mem_data_src in linux/perf_event.h: the operation is the lowest five bits.
_LOAD, _STORE = 2, 4
_OPERATIONS = 31

_PREFIX = re.compile(r"\s*(\d{1,10})/(\d{1,10})\s+(?:\[(\d{1,6})\]\s+)?(?:(\d{1,12})\.(\d{9}):\s)?")
_MAPPING = re.compile(
    r"PERF_RECORD_MMAP2? -?\d+/-?\d+: \[0x([0-9a-f]{1,16})\(0x([0-9a-f]{1,16})\) @ "
    r"(?:0x)?([0-9a-f]{1,16})[^\]]*\]: (?:\S{1,4} )?(.*)$"
)
_FORK = re.compile(r"PERF_RECORD_FORK\((\d+):(\d+)\):\((\d+):(\d+)\)")
_COMM = re.compile(r"PERF_RECORD_COMM( exec)?: (.*):(\d+)/(\d+)\s*$")
_HEX = re.compile(r"[0-9a-f]{1,16}$")
# 73 years, as in a shard.
_LATEST_NS = 1 << 61


@dataclass
class Parsed:
    """The events in the text's order, and how many lines were none."""

    events: list[Event] = field(default_factory=list)
    not_understood: int = 0


def parse(lines: Iterable[str], fields: frozenset[str]) -> Parsed:
    """Read `perf script`'s output; `fields` are the names in FIELDS that were asked for."""
    parsed = Parsed()
    for line in lines:
        text = line.rstrip("\n")
        if not text.strip() or text.startswith("#"):
            continue
        event = _event(text, fields)
        if event is None:
            parsed.not_understood += not _PASSED_OVER.search(text)
        else:
            parsed.events.append(event)
    return parsed


_PASSED_OVER = re.compile(r"PERF_RECORD_\w+")


def _event(text: str, fields: frozenset[str]) -> Event | None:
    begin = _PREFIX.match(text)
    if begin is None:
        return None
    pid, tid = int(begin[1]), int(begin[2])
    time_ns = min(_LATEST_NS, int(begin[4] or 0) * 10**9 + int(begin[5] or 0))
    rest = text[begin.end() :].strip()
    if rest.startswith("PERF_RECORD_"):
        return _record(rest, pid, time_ns)
    cpu = int(begin[3]) if begin[3] else None
    return _sample(rest, fields, (pid, tid, cpu, time_ns))


def _record(text: str, pid: int, time_ns: int) -> Event | None:
    if mapping := _MAPPING.match(text):
        start, length, offset = (int(mapping[i], 16) for i in (1, 2, 3))
        end = min(start + length, 1 << 64)
        return Mapping(pid, time_ns, start, end, offset, mapping[4].strip()[:4096])
    if fork := _FORK.match(text):
        return Forked(int(fork[1]), int(fork[2]), int(fork[3]), time_ns)
    if comm := _COMM.match(text):
        return Named(int(comm[3]), int(comm[4]), time_ns, comm[2][:64], bool(comm[1]))
    return None


def _sample(
    text: str, fields: frozenset[str], where: tuple[int, int, int | None, int]
) -> Sample | None:
    # An event's own name has colons, and a source text after it may too: cut at the first one that
    # an address follows.
    cut = re.match(r"(\S{1,200}):\s+(?=[0-9a-f]{1,16}(?:\s|$))", text)
    if cut is None:
        return None
    event, rest = cut[1], text[cut.end() :]
    address, _, rest = rest.partition(" ")
    rest = rest.strip()
    kind, source = _kind_of_event(event), ""
    if "data_src" in fields:
        number, _, described = rest.partition(" ")
        if not _HEX.match(number) or "|" not in described:
            return None
        kind = _kind_of_operation(int(number, 16)) or kind
        source = _level(described)
        # Behind the last part's words, none of which looks like a number.
        rest = " ".join(itertools.dropwhile(_is_word, described.rpartition("|")[2].split()))
    words = rest.split()
    latency = int(words.pop(0)) if "weight" in fields and words and words[0].isdecimal() else None
    if not words or not _HEX.match(words[0]) or not _HEX.match(address):
        return None
    physical = None
    if "phys_addr" in fields and len(words) > 1 and _HEX.match(words[-1]):
        physical = int(words[-1], 16) or None
    return Sample(
        *where,
        event=event,
        address=int(address, 16),
        pc=int(words[0], 16),
        kind=kind,
        latency=latency if latency != 0 else None,
        source=source,
        physical=physical,
    )


def _is_word(word: str) -> bool:
    return _HEX.match(word) is None


def _kind_of_operation(data_source: int) -> Kind | None:
    operation = data_source & _OPERATIONS
    if operation & _STORE:
        return "write"
    return "read" if operation & _LOAD else None


def _kind_of_event(event: str) -> Kind:
    name = event.lower()
    if "store" in name:
        return "write"
    return "read" if "load" in name else "unknown"


def _level(text: str) -> str:
    """The memory level of perf's text, such as "L3 hit" or "Remote RAM (1 hop) hit"."""
    found = re.search(r"\|LVL ([^|]{1,80})\|", text)
    level = found[1].strip() if found else ""
    # perf says some twice, by the old and the new way of telling it: "L3 or L3 hit".
    level = re.sub(r"^(.+) or \1\b", r"\1", level)
    return "" if level.startswith("N/A") else level
