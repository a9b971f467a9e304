# SPDX-License-Identifier: Apache-2.0
"""The verb `record`, without a recording: its request, its output and its status."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from numascape import NumascapeError
from numascape.recorders import record as recorder
from numascape.recorders.record import Progress, RecordOutcome
from numascape.recording.options import RecordOptions
from numascape.recording.request import RecordRequest
from numascape.trace.info import read_info

Numascape = Callable[..., tuple[int, str, str]]


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch, trace_folder: Path) -> list[RecordRequest]:
    """The requests that reach the recorder, which answers with the small trace."""
    received: list[RecordRequest] = []

    def answer(request: RecordRequest, progress: Progress) -> RecordOutcome:
        received.append(request)
        progress("recording")
        status = int(request.program[1]) if request.program[0] == "exit" else 0
        signal = int(request.program[1]) if request.program[0] == "kill" else None
        return RecordOutcome(trace_folder, read_info(trace_folder), status, signal)

    monkeypatch.setattr(recorder, "record", answer)
    return received


def test_a_quiet_recording_shows_no_status(
    numascape: Numascape, requests: list[RecordRequest]
) -> None:
    for options in ([], ["-q"]):
        numascape("record", *options, "ls")
    assert [request.shows_status for request in requests] == [True, False]


def test_options_after_the_program_are_the_programs(
    numascape: Numascape, requests: list[RecordRequest]
) -> None:
    words = ["ls", "--quiet", "-o", "x", "--", "--help"]
    for separator in ([], ["--"]):
        numascape("record", "-o", "run.numascape", "--no-stack", *separator, *words)
    expected = RecordRequest(words, Path("run.numascape"), RecordOptions(stack=False))
    assert requests == [expected, expected]


@pytest.mark.parametrize(
    ("program", "status"), [(["exit", 0], 0), (["exit", 3], 3), (["exit", 255], 255)]
)
def test_the_programs_exit_status_is_ours(
    numascape: Numascape, requests: list[RecordRequest], program: list[object], status: int
) -> None:
    assert numascape("record", "--", *program)[0] == status


@pytest.mark.usefixtures("requests")
def test_a_signal_becomes_a_status_as_in_a_shell(numascape: Numascape) -> None:
    assert numascape("record", "--", "kill", 11)[0] == 128 + 11


@pytest.mark.usefixtures("requests")
def test_standard_output_is_left_to_the_program(numascape: Numascape, trace_folder: Path) -> None:
    _, out, err = numascape("record", "--", "true")
    assert out == ""
    assert "numascape: recording\n" in err
    assert "100 % of them in structures named in the source" in err
    assert err.endswith(f"numascape report {trace_folder}\n")


@pytest.mark.usefixtures("requests")
def test_quiet_recording_says_nothing(numascape: Numascape) -> None:
    assert numascape("record", "-q", "--", "true") == (0, "", "")


def test_what_cannot_be_recorded_is_one_line(
    numascape: Numascape, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise NumascapeError("absent: no such program")

    monkeypatch.setattr(recorder, "record", refuse)
    status, out, err = numascape("record", "--", "absent")
    assert (status, out, err) == (2, "", "numascape: error: absent: no such program\n")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("missing", "there is no such program"),
        ("folder", "it is a folder"),
        ("text", "the file is not executable"),
    ],
)
def test_a_program_that_cannot_run_is_refused_before_anything_else(
    numascape: Numascape, tmp_path: Path, name: str, reason: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "text").write_text("text")
    program = tmp_path / name
    target = tmp_path / "run.numascape"
    expected = f"numascape: error: cannot run {program}: {reason}\n"
    assert numascape("record", "-o", target, "--", program) == (2, "", expected)
