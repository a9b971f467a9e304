# SPDX-License-Identifier: Apache-2.0
"""A test that needs nothing but Python fails if it starts a program."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from numascape.machine.sources import read_host


def test_programs_are_refused() -> None:
    for start in (
        lambda: subprocess.run([sys.executable, "-c", ""], check=True),
        lambda: subprocess.run(["sh", "-c", ""], check=True),
        lambda: os.posix_spawn(sys.executable, [sys.executable, "-c", ""], {}),
        lambda: os.system("true"),
    ):
        with pytest.raises(
            pytest.fail.Exception, match=r"but is not marked: @pytest\.mark\.program"
        ):
            start()


def test_what_does_not_exist_and_the_reader_of_machines_are_not_refused() -> None:
    with pytest.raises(FileNotFoundError):
        subprocess.run(["/nowhere"], check=True)
    assert read_host().nodes


@pytest.mark.program
def test_marked_tests_may_start_programs() -> None:
    assert subprocess.run([sys.executable, "-c", ""], check=True).returncode == 0
