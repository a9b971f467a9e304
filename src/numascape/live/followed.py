# SPDX-License-Identifier: Apache-2.0
"""Processes that are examined repeatedly, for `--watch`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from numascape.errors import NumascapeError
from numascape.live.parts import Namer
from numascape.live.targets import TargetProcess, find_targets, is_number


class Followed:
    """The processes that `named` names, also those of a name or control group that start later.

    Raises NumascapeError if one of these names none at the beginning.
    """

    def __init__(self, named: Sequence[str], root: Path = Path("/")) -> None:
        self._later = [text for text in named if not is_number(text)]
        self._root = root
        self._known: dict[tuple[int, int], tuple[TargetProcess, Namer]] = {}
        self._add(find_targets(named, root))
        self._is_first = True

    def now(self) -> list[tuple[TargetProcess, Namer]]:
        """The processes that run now, by number, each with the Namer of its memory."""
        if not self._is_first:
            for text in self._later:
                with suppress(NumascapeError):
                    self._add(find_targets([text], self._root))
            # A later process with the same number is another one.
            self._known = {key: one for key, one in self._known.items() if one[0].is_alive}
        self._is_first = False
        return [one for _, one in sorted(self._known.items(), key=lambda item: item[0])]

    def _add(self, targets: Sequence[TargetProcess]) -> None:
        for target in targets:
            self._known.setdefault((target.pid, target.started), (target, Namer(target)))
