# SPDX-License-Identifier: Apache-2.0
"""Verbs that measure for minutes first check that they can write their results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from numascape.host import experiment
from numascape.machine import conditions, sources

Numascape = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(
    "words",
    [
        ("host", "experiment", "-o"),
        ("machine", "probe", "--quick", "-o"),
        ("machine", "cores", "-o"),
        ("machine", "bench", "sum", "--quick", "-o"),
        ("machine", "bench", "sum", "--quick", "--csv"),
    ],
    ids=" ".join,
)
def test_a_missing_folder_is_refused_before_anything_is_measured(
    words: tuple[str, ...], numascape: Numascape, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measured(*_: object) -> None:
        raise AssertionError("it is measuring")

    monkeypatch.setattr(experiment, "measure_point", measured)
    monkeypatch.setattr(sources, "read_host", measured)
    monkeypatch.setattr(conditions, "conditions", lambda _: [])
    status, output, errors = numascape(*words, tmp_path / "nowhere" / "result.svg")
    assert (status, output) == (2, "")
    folder = tmp_path / "nowhere"
    assert (
        errors == f"numascape: error: cannot write {folder}/result.svg: {folder} is not a folder\n"
    )
