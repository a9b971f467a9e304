# SPDX-License-Identifier: Apache-2.0
"""This process becomes another program, or does not change."""

from __future__ import annotations

import signal

import pytest

from numascape.errors import NumascapeError
from numascape.host.programs import replace_this_process


def test_a_program_that_cannot_be_run_changes_no_signal() -> None:
    """With the default action, a socket that the other side closes would end this process."""
    before = [signal.getsignal(number) for number in (signal.SIGPIPE, signal.SIGXFSZ)]
    with pytest.raises(NumascapeError, match="cannot be run: No such file"):
        replace_this_process(["/nowhere/program"], [])
    assert [signal.getsignal(number) for number in (signal.SIGPIPE, signal.SIGXFSZ)] == before
