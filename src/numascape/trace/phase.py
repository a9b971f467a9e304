# SPDX-License-Identifier: Apache-2.0
"""A trace seen through one phase, for everything that is computed from a trace."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from numascape.errors import NumascapeError
from numascape.terminal import printable
from numascape.trace.trace import Trace

if TYPE_CHECKING:
    from typing_extensions import Self

_LISTED = 8


@dataclass(frozen=True)
class TraceOfPhase(Trace):
    """What one phase of `whole` did: its accesses, and the first touches during it.

    With `run_touches`, the first touches are those of the whole run instead: a page lies where it
    was touched first, whichever phase that was in.
    """

    whole: Trace = field(kw_only=True)
    phase: int = field(kw_only=True)
    run_touches: bool = field(kw_only=True, default=False)

    @classmethod
    def of(cls, whole: Trace, phase: int, *, run_touches: bool = False) -> Self:
        """The trace `whole` in its phase `phase`."""
        return cls(whole.path, whole.info, whole=whole, phase=phase, run_touches=run_touches)

    @cached_property
    def accesses(self) -> pl.DataFrame:
        """Reads and writes per page and thread in the phase."""
        return self.whole.accesses.filter(pl.col("phase") == self.phase)

    @cached_property
    def first_touch(self) -> pl.DataFrame:
        """Pages touched first in the phase, or in the run."""
        whole = self.whole.first_touch
        # Traces of earlier versions do not know the phase of a first touch.
        if self.run_touches or "phase" not in whole.columns:
            return whole
        return whole.filter(pl.col("phase") == self.phase)

    @cached_property
    def lines(self) -> pl.DataFrame:
        """The source lines that the phase used."""
        return self.whole.lines.filter(pl.col("phase") == self.phase)

    def _read(self, table: str) -> pl.DataFrame:
        return self.whole.table(table)


def find_phase(trace: Trace, wanted: str) -> int:
    """Return the number of the phase called `wanted`, or of that number if none is called so.

    Raises NumascapeError, with the phases there are, when there is none or several are called so.
    """
    named = trace.phases.filter(pl.col("name") == wanted)
    if named.height == 1:
        return int(named.item(0, "phase"))
    if named.height > 1:
        numbers = ", ".join(str(number) for number in named["phase"].head(_LISTED))
        raise NumascapeError(
            f"{named.height} phases are called {_short(wanted)}: {numbers}"
            f"{' ...' if named.height > _LISTED else ''}; give one's number instead of the name"
        )
    # Ids are 32-bit; a longer number is none, and Python would rather not read it.
    if re.fullmatch("[0-9]{1,10}", wanted) and int(wanted) < trace.phases.height:
        return int(wanted)
    if trace.phases.height == 1:
        raise NumascapeError(
            f"{trace.path} was recorded without phases; docs/record.md says how they are recorded"
        )
    names = [_short(name) for name in trace.phases["name"].unique(maintain_order=True)]
    near = difflib.get_close_matches(_short(wanted), names, n=3, cutoff=0.5) or names[:_LISTED]
    more = " ..." if len(near) < len(names) else ""
    raise NumascapeError(
        f"{trace.path} has no phase {_short(wanted)}; there are {', '.join(near)}{more}"
    )


def _short(name: str) -> str:
    return printable(name if len(name) <= 60 else f"{name[:59]}…")
