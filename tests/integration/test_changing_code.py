# SPDX-License-Identifier: Apache-2.0
"""Code that is generated, removed or unknown behaves as without a recorder."""

import signal
from pathlib import Path
from typing import Any

import pytest

WAYS = ["rewritten", "added", "protected", "itself"]


@pytest.mark.parametrize("how", WAYS)
def test_new_code_runs_and_its_writer_keeps_its_registers(record: Any, how: str) -> None:
    recording = record("changing_code", how)
    assert (recording.output, recording.status) == ("right 300, lost 0\n", 0)


def test_a_hook_leaves_with_its_library(record: Any, programs: Path) -> None:
    recording = record("reloaded", programs / "libfirst.so", programs / "libsecond.so")
    assert (recording.output, recording.status) == ("1042, in place\n", 0)


@pytest.mark.parametrize(
    ("arguments", "output", "status"), [([], "", 128 + signal.SIGILL), (["on"], "handled\n", 0)]
)
def test_an_instruction_that_cannot_be_decoded_is_named(
    record: Any, arguments: list[str], output: str, status: int
) -> None:
    recording = record("undecoded", *arguments)
    assert (recording.output, recording.status) == (output, status)
    assert "cannot decode the instruction c4 e0 78 12 34 56" in recording.errors
    assert "(undecoded+0x" in recording.errors


@pytest.mark.parametrize("recorder", ["binary", "compiled", "faults"])
@pytest.mark.parametrize("how", ["handled", "code"])
def test_faults_and_new_code_take_no_memory(
    record: Any, compiled: Any, how: str, recorder: str
) -> None:
    run = compiled if recorder == "compiled" else record
    # With 55 bytes for each fault, this would be 540 KiB; the system counts memory in groups of
    # pages.
    assert int(run("faults", how, recorder=recorder).output) <= 128
