# SPDX-License-Identifier: Apache-2.0
"""Names from a trace cannot control the terminal; progress is shown only on terminals."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console

from numascape import terminal
from numascape.terminal import printable
from numascape.trace import TraceInfo, write_trace

Tables = dict[str, pl.DataFrame]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("grid->vx", "grid->vx"),
        ("größe [bold]", "größe [bold]"),
        ("\x1b[2J", r"\x1b[2J"),
        ("a\nb\r", r"a\nb\r"),
        ("\u202egpj.exe", r"\u202egpj.exe"),
        ("\udce9", r"\udce9"),
    ],
)
def test_control_characters_are_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_show_escapes_hostile_names(
    numascape: Callable[..., tuple[int, str, str]],
    tmp_path: Path,
    tables: Tables,
    info: TraceInfo,
) -> None:
    hostile = "\x1b]0;owned\x07[red]x[/red]\n"
    tables["structures"] = tables["structures"].with_columns(
        pl.lit(hostile).alias("name"), pl.lit(hostile).alias("function")
    )
    info = dataclasses.replace(info, program=hostile, unseen=(hostile * 1000,))
    write_trace(tmp_path / "t.numascape", tables, info)
    status, out, _ = numascape("show", tmp_path / "t.numascape")
    assert status == 0
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "[red]x[/red]" in out


@pytest.mark.parametrize("is_terminal", [True, False])
def test_progress_has_the_time_left(is_terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(file=io.StringIO(), force_terminal=is_terminal, width=100)
    monkeypatch.setattr(terminal, "messages", lambda: console)
    assert list(terminal.track([1, 2], 2, "Measuring [all]")) == [1, 2]
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert ("Measuring [all]" in shown) == is_terminal
    assert ("left:" in shown) == is_terminal
    assert bool(shown) == is_terminal


def test_progress_of_unknown_length_has_no_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    monkeypatch.setattr(terminal, "messages", lambda: console)
    with terminal.working("Examining"):
        pass
    assert isinstance(console.file, io.StringIO)
    assert "Examining" in console.file.getvalue()
    assert "left" not in console.file.getvalue()


@pytest.mark.parametrize("is_terminal", [True, False])
def test_sentences_are_wrapped_between_words_on_a_terminal(
    is_terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A terminal breaks words if it wraps lines itself; a pipe gets each sentence on one line."""
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("NO_COLOR", "1")
    if is_terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
    sentence = "The foreign share of the accesses falls from 67.5 % to 12.3 %."
    terminal.output().print(sentence, soft_wrap=True)
    lines = capsys.readouterr().out.splitlines()
    assert " ".join(line.strip() for line in lines) == sentence
    assert (len(lines) > 1) == is_terminal
    assert max(map(len, lines)) <= (30 if is_terminal else len(sentence))


@pytest.mark.parametrize("is_terminal", [True, False])
def test_what_takes_long_says_what_it_does(
    is_terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    console = Console(file=io.StringIO(), force_terminal=is_terminal, width=100)
    monkeypatch.setattr(terminal, "messages", lambda: console)
    with terminal.working("Examining"):
        pass
    assert isinstance(console.file, io.StringIO)
    assert ("Examining" in console.file.getvalue()) == is_terminal
