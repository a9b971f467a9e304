# SPDX-License-Identifier: Apache-2.0
"""The process that --pid names, for verbs that change one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numascape.errors import NumascapeError

if TYPE_CHECKING:
    from numascape.live.targets import TargetProcess


def one_target(pid: str) -> TargetProcess:
    """The process; raises NumascapeError if there is none, or more than one."""
    from numascape.live.targets import find_targets

    targets = find_targets([pid])
    if len(targets) > 1:
        numbers = ", ".join(str(target.pid) for target in targets[:8])
        raise NumascapeError(f"{pid} is the name of several processes: use one of {numbers}")
    return targets[0]
