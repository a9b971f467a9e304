# SPDX-License-Identifier: Apache-2.0
"""A build of Polars that computes correctly in an emulated guest: without AVX2.

QEMU 7.2 executes some gathers of AVX2 wrongly (see CONTRIBUTING.md). If this build is installed,
Polars prefers it. It is therefore in a folder of its own.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import polars

from quality.external import ROOT

_FOLDER = ROOT / "build" / "guest-polars"


class NoPolarsError(Exception):
    """The build cannot be fetched; the message says why."""


def emulated_polars() -> Path:
    """The folder of the build, for PYTHONPATH; pip fetches it once per checkout and version."""
    folder = _FOLDER / polars.__version__
    if not folder.is_dir():
        _FOLDER.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_FOLDER) as part:
            _fetch(Path(part) / "package")
            (Path(part) / "package").rename(folder)
    return folder


def polars_variables(folder: Path) -> dict[str, str]:
    """The environment in which Polars uses this build. More threads would only wait."""
    return {"POLARS_FORCE_PKG": "compat", "POLARS_MAX_THREADS": "1", "PYTHONPATH": str(folder)}


def _fetch(folder: Path) -> None:
    package = f"polars-runtime-compat=={polars.__version__}"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", package]
    result = subprocess.run(
        [*command, "--target", str(folder)], capture_output=True, text=True, check=False
    )
    if result.returncode:
        raise NoPolarsError(f"pip cannot install {package}: {result.stderr.strip()[-500:]}")
