# SPDX-License-Identifier: Apache-2.0
"""The initial registers, flags and memory of blocks, made for all blocks of a program together."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from fuzz.instructions.blocks import Block
from fuzz.instructions.layout import ARENA_BYTES, STATE, VECTORS

_AT_ONCE: Final = 256  # blocks whose memory is made together
_QUIET: Final = 60  # of 256 words: small numbers and floats
_ZEROS: Final = 36
_FLAGS: Final = 0x8D5
_ALWAYS_SET: Final = 0x202
_INDEX: Final = 500  # the range of the indices of gathers
# Exponents of numbers of the x87: usual ones, and those of the smallest and largest numbers.
_SIGNS_AND_EXPONENTS: Final = np.array((0x3FFF, 0x4005, 0xBFFE, 0x0000, 0x7FFF, 0), "<u2")

Bytes = npt.NDArray[np.uint8]
States = npt.NDArray[np.void]  # of layout.STATE


def _random(rng: np.random.Generator, *shape: int) -> Bytes:
    return np.frombuffer(rng.bytes(int(np.prod(shape))), "u1").reshape(shape)


def memory_of(count: int, rng: np.random.Generator) -> Iterator[bytes]:
    """Yield the memory of blocks: random bytes that include small numbers and floats.

    Each part is that of several blocks.
    """
    kept = np.full(256, 0xFFFFFFFF, "<u4")
    kept[:_QUIET] = 0x3FFFFFFF
    kept[-_ZEROS:] = 0
    for at in range(0, count, _AT_ONCE):
        words = min(_AT_ONCE, count - at) * ARENA_BYTES // 4
        yield (_random(rng, 4 * words).view("<u4") & kept[_random(rng, words)]).tobytes()


def _floats(count: int, rng: np.random.Generator) -> Bytes:
    """80-bit numbers for the x87, mostly normal ones."""
    chosen = rng.integers(0, len(_SIGNS_AND_EXPONENTS), (count, 8))
    last = chosen == len(_SIGNS_AND_EXPONENTS) - 1  # any exponent
    exponents = np.where(last, _random(rng, count, 16).view("<u2"), _SIGNS_AND_EXPONENTS[chosen])
    fractions = _random(rng, count, 64).view("<u8")
    normal = (exponents & 0x7FFF) != 0
    fractions = fractions | (normal.astype("<u8") << np.uint64(63))
    found = np.zeros((count, 8, 16), "u1")
    found[:, :, :8] = fractions[:, :, None].view("u1")
    found[:, :, 8:10] = exponents[:, :, None].view("u1")
    return found


def _masks(count: int, rng: np.random.Generator) -> npt.NDArray[np.uint64]:
    """Nothing, all, one of the first lanes, or any."""
    kinds = rng.integers(0, 5, (count, 8))
    one = np.uint64(1) << rng.integers(0, 16, (count, 8), "u8")
    masks = _random(rng, count, 64).view("<u8")
    return np.select(
        [kinds == 0, kinds == 1, kinds == 2], [np.uint64(0), np.uint64(2**64 - 1), one], masks
    )


def _set_indices(zmm: Bytes, blocks: Sequence[Block], rng: np.random.Generator) -> None:
    """Put small numbers into the vectors that blocks use as indices."""
    for size in (4, 8):
        where = [
            (at, number)
            for at, block in enumerate(blocks)
            for number, bytes_ in block.indices.items()
            if bytes_ == size
        ]
        if where:
            values = rng.integers(-_INDEX, _INDEX, (len(where), 64 // size), f"<i{size}")
            at, number = zip(*where, strict=True)
            zmm[list(at), list(number)] = values.view("u1")


def _vectors(blocks: Sequence[Block], rng: np.random.Generator) -> npt.NDArray[np.void]:
    vectors = np.zeros(len(blocks), VECTORS)
    zmm = _random(rng, len(blocks), 32, 64).copy()
    _set_indices(zmm, blocks, rng)
    vectors["zmm"] = zmm
    vectors["k"] = _masks(len(blocks), rng)
    vectors["st"] = _floats(len(blocks), rng)
    vectors["mxcsr"] = 0x1F80
    vectors["control"] = 0x37F
    vectors["tags"] = _random(rng, len(blocks))
    return vectors


def states_of(blocks: Sequence[Block], starts: Sequence[int], rng: np.random.Generator) -> States:
    """Return the registers that the blocks begin with."""
    states = np.zeros(len(blocks), STATE)
    states["registers"]["gpr"] = [block.gpr for block in blocks]
    flags = _random(rng, 2 * len(blocks)).view("<u2")
    states["registers"]["flags"] = flags & _FLAGS | _ALWAYS_SET
    states["registers"]["rip"] = starts
    states["guard"] = [block.guard for block in blocks]
    states["vectors"] = _vectors(blocks, rng)
    return states
