# SPDX-License-Identifier: Apache-2.0
"""Parses the output of `perf script` to events.

The output has those of FIELDS that the recording has, and the records of mappings, names and
threads (`--show-mmap-events --show-task-events`). It is not trusted: other lines are skipped and
counted.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from numascape.samples.events import AccessKind, Event, Forked, NameGiven, RangeMapped, Sample

# Fields by their names in `perf evlist -v`, in the order in which they are printed.
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
_FORK = re.compile(r"PERF_RECORD_FORK\((\d{1,10}):(\d{1,10})\):\((\d{1,10}):\d{1,10}\)")
_COMM = re.compile(r"PERF_RECORD_COMM( exec)?: (.*):(\d{1,10})/(\d{1,10})\s*$")
_HEX = re.compile(r"[0-9a-f]{1,16}$")
# A line of a call chain: an address in a file, or of the kernel; and the file.
_CALL = re.compile(r"\t\s*([0-9a-f]{1,16})(?: \((.*)\))?$")
# The kernel's limit is 127 by default (perf_event_max_stack), at most 65535.
_LONGEST_CHAIN = 1024
# 73 years, as in a shard.
_LATEST_NS = 1 << 61
# The largest id of a process or thread, and the longest latency; larger values are damage.
_LARGEST = (1 << 32) - 1


Chain = tuple[tuple[int, str], ...]
"""The code of a sample and its callers, innermost first: addresses as perf prints them, and files.

In a file, an address is the offset of the code in the file.
"""


@dataclass
class Parsed:
    """The events in the order of the text, and the number of lines that are not events.

    `chains` has the chain of some samples, by the position of the sample in `events`; the sample
    then has no code address of its own.
    """

    events: list[Event] = field(default_factory=list)
    not_understood: int = 0
    chains: dict[int, Chain] = field(default_factory=dict)


def parse(lines: Iterable[str], fields: frozenset[str]) -> Parsed:
    """Read `perf script`'s output; `fields` are the names in FIELDS that were asked for."""
    parsed = Parsed()
    for text, chain in _records(lines):
        event = _event(text, fields)
        if event is None:
            parsed.not_understood += not _PASSED_OVER.search(text)
            continue
        if chain and isinstance(event, Sample):
            parsed.chains[len(parsed.events)] = chain
        parsed.events.append(event)
    return parsed


def _records(lines: Iterable[str]) -> Iterator[tuple[str, Chain]]:
    """Each event on one line, and its chain.

    perf prints a chain in place of the address of the code, on lines that begin with a tab, and the
    remaining fields on the line after it. Here, the event's line has the chain's first address.
    """
    head, after = "", ""
    chain: list[tuple[int, str]] = []

    def record() -> tuple[str, Chain]:
        return (f"{head} {chain[0][0]:x} {after}" if chain else head), tuple(chain)

    for line in lines:
        text = line.rstrip("\n")
        call = _CALL.match(text)
        if call and head:
            if len(chain) < _LONGEST_CHAIN:
                chain.append((int(call[1], 16), call[2] or ""))
        elif chain and _HEX.match(text.strip()):
            after = text.strip()
        elif text.strip() and not text.startswith("#"):
            if head:
                yield record()
            head, after, chain = text, "", []
    if head:
        yield record()


_PASSED_OVER = re.compile(r"PERF_RECORD_\w+")


def _event(text: str, fields: frozenset[str]) -> Event | None:
    begin = _PREFIX.match(text)
    if begin is None:
        return None
    pid, tid = int(begin[1]), int(begin[2])
    if max(pid, tid) > _LARGEST:
        return None
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
        # A path with a NUL is invalid and could not be opened.
        path = mapping[4].strip()[:4096].replace("\0", "\N{REPLACEMENT CHARACTER}")
        return RangeMapped(pid, time_ns, start, end, offset, path)
    if fork := _FORK.match(text):
        numbers = _ids(fork[1], fork[2], fork[3])
        return Forked(numbers[0], numbers[1], numbers[2], time_ns) if numbers else None
    if comm := _COMM.match(text):
        numbers = _ids(comm[3], comm[4])
        if numbers:
            return NameGiven(numbers[0], numbers[1], time_ns, comm[2][:64], bool(comm[1]))
    return None


def _ids(*texts: str) -> list[int]:
    """The ids of processes and threads; none if one of them is out of range."""
    numbers = [int(text) for text in texts]
    return numbers if max(numbers) <= _LARGEST else []


def _sample(
    text: str, fields: frozenset[str], where: tuple[int, int, int | None, int]
) -> Sample | None:
    # The name of an event contains colons, and so may the source text after it: cut at the first
    # colon that is followed by an address.
    cut = re.match(r"(\S{1,200}):\s+(?=[0-9a-f]{1,16}(?:\s|$))", text)
    if cut is None:
        return None
    event, rest = cut[1], text[cut.end() :]
    address, _, rest = rest.partition(" ")
    # If files are asked for, that of the address follows it.
    rest = re.sub(r"^\(.*?\)(?:\s|$)", "", rest.strip()).strip()
    kind, source = _kind_of_event(event), ""
    if "data_src" in fields:
        number, _, described = rest.partition(" ")
        if not _HEX.match(number) or "|" not in described:
            return None
        kind = _kind_of_operation(int(number, 16)) or kind
        source = _level(described)
        # The fields after the words of the last part; words do not look like numbers.
        rest = " ".join(itertools.dropwhile(_is_word, described.rpartition("|")[2].split()))
    words = rest.split()
    latency = None
    if "weight" in fields and words and words[0].isdecimal():
        latency = int(words[0][:11])
        if latency > _LARGEST:
            return None
        del words[0]
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


def _kind_of_operation(data_source: int) -> AccessKind | None:
    operation = data_source & _OPERATIONS
    if operation & _STORE:
        return "write"
    return "read" if operation & _LOAD else None


def _kind_of_event(event: str) -> AccessKind:
    name = event.lower()
    if "store" in name:
        return "write"
    return "read" if "load" in name else "unknown"


def _level(text: str) -> str:
    """The memory level of perf's text, such as "L3 hit" or "Remote RAM (1 hop) hit"."""
    found = re.search(r"\|LVL ([^|]{1,80})\|", text)
    level = found[1].strip() if found else ""
    # perf prints some levels twice, from its old and new encoding: "L3 or L3 hit".
    level = re.sub(r"^(.+) or \1\b", r"\1", level)
    return "" if level.startswith("N/A") else level
