# SPDX-License-Identifier: Apache-2.0
"""Numascape ends in the same way as the program; no signal is really sent."""

from __future__ import annotations

import os
import resource
import signal
from typing import Any

import pytest

from numascape.placement.planned_run import end_as


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    made: list[Any] = []
    monkeypatch.setattr(os, "kill", lambda *call: made.append(("kill", *call)))
    monkeypatch.setattr(signal, "signal", lambda *call: made.append(("signal", *call)))
    monkeypatch.setattr(resource, "setrlimit", lambda *call: made.append(("limit", *call)))
    return made


def test_a_status_is_passed_on(calls: list[Any]) -> None:
    assert [end_as(status) for status in (0, 1, 255)] == [0, 1, 255]
    assert calls == []


def test_the_first_signal_is_one(calls: list[Any]) -> None:
    assert end_as(-signal.SIGHUP) == 128 + signal.SIGHUP
    assert calls[-1] == ("kill", os.getpid(), signal.SIGHUP)


def test_a_signal_is_sent_to_ourselves_without_a_core_file(calls: list[Any]) -> None:
    assert end_as(-signal.SIGSEGV) == 128 + signal.SIGSEGV
    assert calls == [
        ("limit", resource.RLIMIT_CORE, (0, 0)),
        ("signal", signal.SIGSEGV, signal.SIG_DFL),
        ("kill", os.getpid(), signal.SIGSEGV),
    ]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_signals_that_cannot_be_caught_have_no_handler_to_remove(
    calls: list[Any], number: int
) -> None:
    assert end_as(-number) == 128 + number
    assert [call[0] for call in calls] == ["limit", "kill"]
