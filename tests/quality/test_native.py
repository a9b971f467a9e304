# SPDX-License-Identifier: Apache-2.0
"""The native libraries pass their tests in C++."""

from __future__ import annotations

import os
import sys
import xml.etree.ElementTree as ET

import pytest

from quality.external import ROOT, expect_success

BUILD = ROOT / "build" / "package"  # shared with the package, whose libraries are tested


@pytest.fixture(scope="module")
def built() -> None:
    expect_success("cmake", "--preset", "test", f"-DPython_EXECUTABLE={sys.executable}")
    expect_success("cmake", "--build", "--preset", "test", "--parallel", str(os.cpu_count() or 1))


@pytest.mark.timeout(2400)  # compiles with sanitizers: minutes, on a busy machine ten times that
@pytest.mark.usefixtures("built")
def test_cpp_tests_pass() -> None:
    results = BUILD / "results.xml"
    expect_success("ctest", "--preset", "test", "--no-tests=error", "--output-junit", str(results))
    suite = ET.parse(results).getroot()
    print(f"{suite.get('tests')} tests in C++")
    assert int(suite.get("tests", 0)) > 0
