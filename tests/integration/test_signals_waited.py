# SPDX-License-Identifier: Apache-2.0
"""A recorded program gets its signals as without a recorder: handled, blocked, waited for."""

from typing import Any

import pytest

CHECKS = ["sent before", "sent while waiting", "all signals", "in order", "by descriptor"]
CHECKS += ["pending", "masks of calls", "ready before signal", "inherited by thread"]
CHECKS += ["by another thread", "to the open thread", "ignored interrupts nothing"]
CHECKS += ["cannot be blocked", "kept by exec"]


@pytest.mark.parametrize("check", CHECKS)
def test_signals_wait_where_calls_find_them(record: Any, check: str) -> None:
    recording = record("signals_waited")
    assert f"{check}: right" in recording.output.splitlines()
    assert recording.status == 0


@pytest.mark.parametrize("loop", ["strings", "marks", "plain"])
def test_signals_reach_threads_in_loops(record: Any, loop: str) -> None:
    """The loops run in the code cache and the recorder's own code, and never leave them."""
    recording = record("signals_in_loops", loop)
    assert recording.output == "100 rounds\n"
    assert recording.status == 0
