# SPDX-License-Identifier: Apache-2.0
"""A CMake project finds the installed headers; the single header is all of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from quality.external import ROOT, expect_success
from unit.containers.compiling import HEADERS, INCLUDE

CONSUMER = Path(__file__).parent / "consumer"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The prefix into which the headers alone were installed."""
    build, prefix = tmp_path_factory.mktemp("headers"), tmp_path_factory.mktemp("prefix")
    python = f"-DPython_EXECUTABLE={sys.executable}"
    expect_success("cmake", "-S", ROOT / "include", "-B", build, "-G", "Ninja", python)
    expect_success("cmake", "--build", build)
    expect_success("cmake", "--install", build, "--prefix", prefix)
    return prefix


def test_all_headers_are_installed(installed: Path) -> None:
    names = [path.name for path in (installed / "include" / "numascape").iterdir()]
    assert sorted(names) == sorted(path.name for path in (INCLUDE / "numascape").iterdir())
    assert {path.name for path in HEADERS} <= set(names)


def test_a_project_finds_and_uses_them(installed: Path, tmp_path: Path) -> None:
    found_in = f"-DCMAKE_PREFIX_PATH={installed}"
    expect_success("cmake", "-S", CONSUMER, "-B", tmp_path, "-G", "Ninja", found_in)
    jobs = str(os.cpu_count() or 1)
    expect_success("cmake", "--build", tmp_path, "--parallel", jobs)
    for program in ("consumer", "single"):
        subprocess.run([tmp_path / program], check=True, timeout=300)


def test_the_single_header_has_every_header_but_adapters_once(installed: Path) -> None:
    text = (installed / "single_include" / "numascape.hpp").read_text()
    for path in HEADERS:
        count = text.count(f"// ---- {path.name} ----")
        assert count == (0 if path.name.startswith(("executor_", "boost_")) else 1)
    assert '#include "' not in text
    assert text.count("#pragma once") == 1
