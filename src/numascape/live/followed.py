# SPDX-License-Identifier: Apache-2.0
"""Processes that are examined repeatedly, for `--watch`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from numascape.errors import NumascapeError
from numascape.live.mappings import NotPermittedError
from numascape.live.parts import Namer
from numascape.live.snapshot import NoMemoryError, Snapshot, take_snapshot
from numascape.live.targets import TargetProcess, find_targets, is_number


@dataclass(frozen=True)
class _Refused:
    target: TargetProcess
    error: NotPermittedError


class Followed:
    """The processes that `named` names, also those of a name or control group that start later.

    Raises NumascapeError if one of these names none at the beginning.
    """

    def __init__(self, named: Sequence[str], root: Path = Path("/")) -> None:
        self._later = [text for text in named if not is_number(text)]
        numbers = (text.split(",") for text in named if is_number(text))
        self._wanted = {int(word) for words in numbers for word in words if word}
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

    def snapshots(self, exact: bool) -> tuple[list[Snapshot], list[TargetProcess]]:
        """Look at the processes that run now; also returns those that may not be examined.

        Raises NotPermittedError if these are all, or if one of them was named by its number.
        """
        looked = [self._look(target, namer, exact) for target, namer in self.now()]
        shown = [one for one in looked if isinstance(one, Snapshot)]
        refusals = [one for one in looked if isinstance(one, _Refused)]
        if refusals and not shown:
            raise refusals[0].error
        return shown, [one.target for one in refusals]

    def _look(self, target: TargetProcess, namer: Namer, exact: bool) -> Snapshot | _Refused | None:
        """The process now; None if it has ended, or has no memory."""
        try:
            return take_snapshot(target, namer, exact)
        except NotPermittedError as error:
            if target.pid in self._wanted:
                raise
            return _Refused(target, error)
        except NoMemoryError:
            # A control group may also have threads of the kernel.
            if target.pid in self._wanted:
                raise
            return None
        except NumascapeError:
            if target.is_alive:
                raise
            return None

    def _add(self, targets: Sequence[TargetProcess]) -> None:
        for target in targets:
            self._known.setdefault((target.pid, target.started), (target, Namer(target)))
