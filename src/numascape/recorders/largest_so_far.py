# SPDX-License-Identifier: Apache-2.0
"""Names the largest heap blocks of a recording that is still going on.

A name is that of the trace, as far as it follows from one call stack: of blocks that Python
statements allocate, the name is a function of the interpreter or of a package.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from numascape._native import shard as native

if TYPE_CHECKING:
    from numascape._native.symbols import Symbols

_LARGEST: Final = 3
"""Number of names that are shown."""
_Modules = Sequence[tuple[bytes, int, int, int]]


class LargestBlocks:
    """Finds names of call stacks, and remembers them; `cache` is the folder of the symbols."""

    def __init__(self, cache: Path | None) -> None:
        self._cache = cache
        self._names: dict[tuple[str, tuple[int, ...]], str] = {}

    def so_far(self, folder: Path) -> list[tuple[str, int]]:
        """The names with most bytes in blocks of a page or more, largest first, with the bytes.

        Shards that are not begun, or were removed, have none.
        """
        bytes_of: Counter[str] = Counter()
        for path in folder.glob("*.shard"):
            with contextlib.suppress(native.ShardError, OSError):
                sites, modules = native.largest_blocks(str(path), _LARGEST)
                for size, frames in sites:
                    bytes_of[self._name(path.name, tuple(frames), modules)] += size
        return bytes_of.most_common(_LARGEST)

    def _name(self, shard: str, frames: tuple[int, ...], modules: _Modules) -> str:
        key = shard, frames
        if key not in self._names:
            # Imported here: most recordings end before anything is shown.
            from numascape.naming.allocations import name_allocation

            symbols = self._symbols(modules)
            # A return address may be behind the last instruction of its function.
            callers = [frame for address in frames for frame in symbols.frames(address - 1)]
            self._names[key] = name_allocation(callers).name
            symbols.save()
        return self._names[key]

    def _symbols(self, modules: _Modules) -> Symbols:
        from numascape._native.symbols import Module, Symbols

        loaded = [Module(path.decode(errors="replace"), *addresses) for path, *addresses in modules]
        return Symbols(loaded, "" if self._cache is None else str(self._cache))
