# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from numascape.analysis.source_files import SourceFiles
from numascape.findings.sources import Sources

Written = Callable[[str], tuple[Sources, str]]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """Sources of a file with this text, and its name."""

    def write(text: str) -> tuple[Sources, str]:
        path = tmp_path / "a.c"
        path.write_text(text)
        return Sources(SourceFiles(True, path.stat().st_mtime + 1)), str(path)

    return write
