# SPDX-License-Identifier: Apache-2.0
"""The verbs of `numascape machine`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from numascape.cli.entry import run


def test_show_prints_nodes_factors_and_where_they_are_from(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert run(["machine", "show", "--machine", "epyc-9354p-nps4"]) == 0
    printed = capsys.readouterr().out
    for text in ("node 3", "CPUs 24-31,56-63", "2 x L3 32 MiB", "0 1.00 1.07 1.12 1.11",
                 "published 2026: Intel MLC 3.11b"):  # fmt: skip
        assert text in printed


def test_names_in_a_machine_do_not_steer_the_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "machine.json"
    node = {"node": 0, "cpus": [0], "memory_bytes": 1, "kind": "\x1b[2J"}
    file.write_text(
        json.dumps({"format": "numascape machine", "version": 1, "name": "\x1b[31m",
                    "nodes": [node], "packages": [[0]], "notes": ["\x1b]0;title\x07"]})
    )  # fmt: skip
    assert run(["machine", "show", "-m", str(file)]) == 0
    assert "\x1b[31m" not in (printed := capsys.readouterr().out)
    assert "\x1b[2J" not in printed
    assert "\x1b]0" not in printed


def test_this_host_is_shown_and_exported(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(["machine", "show"]) == 0
    assert "node 0" in capsys.readouterr().out
    file = tmp_path / "host.json"
    assert run(["machine", "export", "--format", "json", "-o", str(file)]) == 0
    assert json.loads(file.read_text())["format"] == "numascape machine"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["show", "-m", "nowhere"], "there is no machine 'nowhere'"),
        (["show", "-m", "numa16", "-o", "a.txt"], "a machine is drawn to files that end in"),
        (
            ["export", "-m", "numa16", "--format", "csv", "--matrix", "latency"],
            "the latency of NUMA16: 8 x AMD",
        ),
        (["export", "--format", "pdf"], "see: numascape machine export --help"),
        (["bench", "triad", "--sockets", "99"], "99 sockets are wanted"),
        (["guess"], "see: numascape machine --help"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["machine", *arguments]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if "error" in line]
    assert len(lines) == 1
    assert reason in lines[0]
