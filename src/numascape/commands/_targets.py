# SPDX-License-Identifier: Apache-2.0
"""The process that --pid names, for verbs that change or record one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from numascape.errors import NumascapeError

if TYPE_CHECKING:
    from numascape.live.targets import TargetProcess

_DIGITS: Final = 9
"""Numbers of processes have at most 7."""


def pid_of(text: str) -> int:
    """The number of the process; raises NumascapeError if a name fits none, or more than one.

    A number need not be that of a process: what is done with it finds out more about it.
    """
    if text.isascii() and text.isdecimal() and len(text) <= _DIGITS:
        return int(text)
    return one_target(text).pid


def one_target(pid: str) -> TargetProcess:
    """The process; raises NumascapeError if there is none, or more than one."""
    from numascape.live.targets import find_targets

    targets = find_targets([pid])
    if len(targets) > 1:
        numbers = ", ".join(str(target.pid) for target in targets[:8])
        raise NumascapeError(f"{pid} is the name of several processes: use one of {numbers}")
    return targets[0]
