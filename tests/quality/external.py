# SPDX-License-Identifier: Apache-2.0
"""Runs the programs that check sources."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def expect_success(*command: str | Path, folder: Path = ROOT) -> None:
    """Run the command; if it fails, fail the test with the end of its output."""
    result = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if result.returncode:
        pytest.fail(result.stdout[-8000:], pytrace=False)
