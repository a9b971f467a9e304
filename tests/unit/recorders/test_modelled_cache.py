# SPDX-License-Identifier: Apache-2.0
"""The caches that users write, and the part of a machine's caches for one thread."""

import dataclasses

import pytest

from numascape.errors import NumascapeError
from numascape.machine.description import Cache
from numascape.machine.sources import read_host
from numascape.recording.modelled_cache import (
    ModelledCache,
    cache_of_thread,
    parse_cache,
    rounded,
)

MIB = 1 << 20


def test_a_cache_is_size_ways_and_line() -> None:
    assert parse_cache("2M,16,64") == ModelledCache(2 * MIB, 16, 64)
    assert parse_cache("96kib, 6, 128").sets == 128


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("2M", "give SIZE,WAYS,LINE"),
        ("2M,16", "give SIZE,WAYS,LINE"),
        ("big,16,64", "give SIZE,WAYS,LINE"),
        ("2M,-1,64", "give SIZE,WAYS,LINE"),
        ("2M,0,64", "1 to 64 ways"),
        ("2M,16,48", "power of two of bytes"),
        ("3M,16,64", "ways x line x a power of two"),
        ("16K,16,64", "ways x line x a power of two"),
    ],
)
def test_a_wrong_cache_is_one_line(text: str, reason: str) -> None:
    with pytest.raises(NumascapeError, match=reason) as error:
        parse_cache(text)
    assert "\n" not in str(error.value)


def test_a_thread_has_its_share_of_the_two_last_levels() -> None:
    caches = (
        Cache(1, "data", 32 << 10, 64, ((0,), (1,), (2,), (3,))),
        Cache(2, "unified", 2 * MIB, 64, ((0, 1), (2, 3))),
        Cache(3, "unified", 12 * MIB, 64, ((0, 1, 2, 3),)),
    )
    machine = dataclasses.replace(read_host(), caches=caches)
    assert cache_of_thread(machine, {0, 1, 2, 3}) == ModelledCache(4 * MIB, 8, 64)
    assert cache_of_thread(machine, {0}).bytes == 14 * MIB
    with pytest.raises(NumascapeError, match="unknown: give one"):
        cache_of_thread(dataclasses.replace(machine, caches=()), {0})


@pytest.mark.parametrize("size", [1, 100_000, 2490368, 3 * MIB, 140_509_184])
def test_a_rounded_cache_can_be_modelled(size: int) -> None:
    cache = rounded(size, 64)
    assert cache.problem() is None
    assert size < 5 * 32 * 64 or 5 * size / 6 <= cache.bytes + 64 * 8 <= size + 64 * 8
