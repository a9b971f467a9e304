# SPDX-License-Identifier: Apache-2.0
"""A process of pytest-xdist that dies fails one test, and the run goes on to its end."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("xdist")
import distribution

CONFTEST = """
import distribution

def pytest_xdist_make_scheduler(config, log):
    config.option.loadscopereorder = False
    return distribution.FilesTogether(config, log)
"""
PASSES = "def test_before(): pass\ndef test_after(): pass\n"
DIES = "import os\ndef test_before(): pass\ndef test_dies(): os._exit(3)\ndef test_after(): pass\n"


@pytest.mark.program
def test_the_tests_of_a_process_that_dies_run_in_another(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "pytest.ini").write_text(
        f"[pytest]\npythonpath = {Path(distribution.__file__).parent}\n"
    )
    files = {"a": PASSES, "b": DIES, "c": PASSES, "d": PASSES, "e": DIES}
    for name, text in files.items():
        (tmp_path / f"test_{name}.py").write_text(text)

    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", "2", "-rA", "."],
        cwd=tmp_path,
        # In CI, pytest's summary has the whole message of a failure, which is counted below.
        env={name: value for name, value in os.environ.items() if name != "CI"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert "test session starts" in run.stdout, run.stdout + run.stderr
    results = [tuple(line.split()[:2]) for line in run.stdout.splitlines() if "::" in line]
    assert sorted(row for row in results if row[0] in ("PASSED", "FAILED")) == sorted(
        ("FAILED" if name == "dies" else "PASSED", f"test_{file}.py::test_{name}")
        for file, text in files.items()
        for name in ("before", "dies", "after")
        if f"test_{name}" in text
    )
    assert run.stdout.count("crashed while running 'test_b.py::test_dies'") == 1
    assert run.returncode == 1
