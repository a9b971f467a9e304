# SPDX-License-Identifier: Apache-2.0
"""The native libraries pass their tests in C++."""

from __future__ import annotations

import os
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from quality.external import expect_success


@pytest.fixture(scope="module")
def built() -> None:
    expect_success("cmake", "--preset", "test", f"-DPython_EXECUTABLE={sys.executable}")
    expect_success("cmake", "--build", "--preset", "test", "--parallel", str(os.cpu_count() or 1))


@pytest.mark.timeout(2400)  # compiles with sanitizers: minutes, on a busy machine ten times that
@pytest.mark.usefixtures("built")
def test_cpp_tests_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GTEST_OUTPUT", f"xml:{tmp_path}/")  # each program writes its results there
    programs = tmp_path / "programs"
    expect_success("ctest", "--preset", "test", "--no-tests=error", "--output-junit", str(programs))
    results = [ET.parse(path).getroot() for path in tmp_path.glob("*.xml")]
    assert len(results) == int(ET.parse(programs).getroot().get("tests", 0)) > 0
    counts = [int(result.get("tests", 0)) for result in results]
    print(f"{sum(counts)} tests in C++")
    assert min(counts) > 0
    assert {result.get("failures") for result in results} == {"0"}
