# SPDX-License-Identifier: Apache-2.0
"""The usual command lines of `record` are understood without Typer, as Typer understands them."""

from __future__ import annotations

import pytest

from numascape.cli.app import run_verb
from numascape.cli.plain_recordings import plainly_asked
from numascape.commands import record
from numascape.recording.request import RecordRequest

PLAIN = [
    "record true",
    "record -- true",
    "record -q -o x.numascape -- ./program -n 5 --help",
    "record --quiet --output x.numascape ./program -- -q",
    "record -o a -o b true",
    "record --no-stack --no-source-lines --traffic --cache 1M,16,64 -- true",
    "record --no-stack --stack --recorder faults --phases none -- true",
    "record --ranks 0,7 --recorder samples --event page-faults true",
    "record --recorder samples --frequency 99 true",
    "record --every 0.5 -- true",
    # The older spelling.
    "record --no-lines -- true",
    "record --lines -- true",
]
NOT_PLAIN = [
    "record",
    "record --",
    "record -q",
    "record -o",
    "record -o -- true",
    "record -ox true",
    "record --output=x true",
    "record --help",
    "record --pid 5",
    "record --recorder quick true",
    "record --every soon true",
    "record --no-such-option true",
    "show x.numascape",
    "--version",
    "",
]


def asked_by_typer(line: str, monkeypatch: pytest.MonkeyPatch) -> RecordRequest:
    asked: list[RecordRequest] = []

    def keep(what: RecordRequest) -> int:
        asked.append(what)
        return 7

    monkeypatch.setattr(record, "record_as_asked", keep)
    assert run_verb(line.split()) == 7
    return asked[0]


@pytest.mark.parametrize("line", PLAIN)
def test_plain_lines_mean_what_typer_reads(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert plainly_asked(line.split()) == asked_by_typer(line, monkeypatch)


@pytest.mark.parametrize("line", NOT_PLAIN)
def test_typer_reads_all_other_lines(line: str) -> None:
    assert plainly_asked(line.split()) is None
