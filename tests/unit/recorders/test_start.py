# SPDX-License-Identifier: Apache-2.0
"""Programs that are recorded, or run under a plan, start quickly."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.program
@pytest.mark.parametrize(
    "module", ["numascape.recorders.record", "numascape.placement.planned_run"]
)
def test_a_program_starts_before_the_data_frames_are_loaded(module: str) -> None:
    command = f"import sys; import {module}; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=True
    ).stdout.split()
    assert module in loaded
    assert not {"polars", "numpy", "matplotlib"} & set(loaded)
