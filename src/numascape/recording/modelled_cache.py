# SPDX-License-Identifier: Apache-2.0
"""Models the cache of each recorded thread, to count the lines that it fetches from memory."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from dataclasses import dataclass

from numascape.errors import NumascapeError
from numascape.machine.description import Cache, Machine
from numascape.machine.sources import read_host

# The limits of src/native/cache-model/cache_model.h.
_MAX_WAYS = 64
_LINE_BYTES = (32, 256)
_SETS = (32, 1 << 24)

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_SIZE = re.compile(r"(\d{1,15})([kmg]?)(?:ib?|b)?", re.IGNORECASE)


@dataclass(frozen=True)
class ModelledCache:
    """A set-associative cache: `bytes` = ways x line_bytes x a power of two."""

    bytes: int
    ways: int
    line_bytes: int

    @property
    def sets(self) -> int:
        """The number of sets, a power of two."""
        return self.bytes // (self.ways * self.line_bytes)

    def problem(self) -> str | None:
        """Return why the cache cannot be modelled, or None if it can."""
        low, high = _LINE_BYTES
        if not low <= self.line_bytes <= high or not _is_power_of_two(self.line_bytes):
            return f"its lines must have a power of two of bytes, {low} to {high}"
        if not 1 <= self.ways <= _MAX_WAYS:
            return f"it must have 1 to {_MAX_WAYS} ways"
        least, most = _SETS
        sets, rest = divmod(self.bytes, self.ways * self.line_bytes)
        if rest or not _is_power_of_two(sets) or not least <= sets <= most:
            return f"its size must be ways x line x a power of two, {least} to {most}"
        return None


def parse_cache(text: str) -> ModelledCache:
    """Parse `SIZE,WAYS,LINE` such as 2M,16,64; NumascapeError says what is wrong."""
    parts = text.replace(" ", "").split(",")
    size = _SIZE.fullmatch(parts[0])
    if len(parts) != 3 or size is None or not all(re.fullmatch(r"\d{1,6}", p) for p in parts[1:]):
        raise NumascapeError(f"--cache {text}: give SIZE,WAYS,LINE, for example 2M,16,64")
    cache = ModelledCache(
        int(size[1]) * _UNITS[size[2].lower()], ways=int(parts[1]), line_bytes=int(parts[2])
    )
    problem = cache.problem()
    if problem is not None:
        raise NumascapeError(f"--cache {text}: {problem}")
    return cache


def cache_of_thread(machine: Machine, cpus: Collection[int]) -> ModelledCache:
    """One thread's part of the machine's caches if each of `cpus` runs a thread.

    The size is the sum of the thread's shares of the last level and of the level below. The last
    level of current CPUs contains few of the lines that the level below has. If CPUs differ, the
    smallest share counts. Raises NumascapeError if the machine's caches are unknown.
    """
    data = [cache for cache in machine.caches if cache.kind in ("data", "unified")]
    levels = sorted({cache.level for cache in data}, reverse=True)[:2]
    shares = []
    for cpu in cpus:
        mine = [_share(cache, cpu, cpus) for cache in data if cache.level in levels]
        shares.append(sum(mine))
    effective = min((share for share in shares if share), default=0)
    if not effective:
        raise NumascapeError("this machine's caches are unknown: give one, as --cache 2M,16,64")
    return rounded(effective, max(cache.line_bytes for cache in data) or 64)


def cache_of_this_host() -> ModelledCache:
    """`cache_of_thread` of this machine, with the CPUs that this process may use."""
    return cache_of_thread(read_host(), os.sched_getaffinity(0))


def _share(cache: Cache, cpu: int, cpus: Collection[int]) -> int:
    for group in cache.groups:
        if cpu in group:
            return cache.bytes // max(1, len(set(group) & set(cpus)))
    return 0


def rounded(size: int, line_bytes: int) -> ModelledCache:
    """The largest cache of at most `size` bytes with a power of two of sets and 5 to 8 ways.

    More ways would match the size better, but the cost of a lookup is proportional to the number of
    ways. More than eight ways hardly change the hit rate (Hill and Smith 1989).
    """
    lines = max(size // line_bytes, 5 * _SETS[0])
    sets = 1 << ((lines // 5).bit_length() - 1)
    ways = min(8, lines // sets)
    return ModelledCache(sets * ways * line_bytes, ways, line_bytes)


def _is_power_of_two(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0
