# SPDX-License-Identifier: Apache-2.0
"""The native libraries compile without warnings and pass their tests in C++."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "test"


def run(*command: str) -> None:
    result = subprocess.run(
        command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if result.returncode:
        pytest.fail(result.stdout[-8000:], pytrace=False)


@pytest.fixture(scope="module")
def built() -> None:
    run("cmake", "--preset", "test", f"-DPython_EXECUTABLE={sys.executable}")
    run("cmake", "--build", "--preset", "test", "--parallel", str(os.cpu_count() or 1))


@pytest.mark.usefixtures("built")
def test_cpp_tests_pass() -> None:
    results = BUILD / "results.xml"
    run("ctest", "--preset", "test", "--no-tests=error", "--output-junit", str(results))
    suite = ET.parse(results).getroot()
    print(f"{suite.get('tests')} tests in C++")
    assert int(suite.get("tests", 0)) > 0
