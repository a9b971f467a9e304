# SPDX-License-Identifier: Apache-2.0
"""An interrupt at any moment ends the command with at most one line, and status 130.

A finder of modules in the test's folder interrupts the process when a certain module is imported.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.program

_SITE = """
import os, signal, sys

class Interrupting:
    def find_spec(self, name, path, target=None):
        if name == os.environ["INTERRUPTED_MODULE"]:
            sys.meta_path.remove(self)
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
"""


def _interrupted(
    folder: Path, module: str, *arguments: str, ignored: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run a command that is interrupted when it imports the module."""
    (folder / "sitecustomize.py").write_text(_SITE)
    return subprocess.run(
        [sys.executable, "-m", "numascape", *arguments],
        env={**os.environ, "PYTHONPATH": str(folder), "INTERRUPTED_MODULE": module},
        preexec_fn=(lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)) if ignored else None,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.mark.parametrize(
    "module",
    [
        "numascape.cli.entry",
        "numascape.terminal",
        "numascape.recording.options",
        "numascape.cli.app",
        "typer",
        "numascape.commands.machine",
    ],
)
def test_while_modules_are_loaded(tmp_path: Path, module: str) -> None:
    result = _interrupted(tmp_path, module, "machine", "show", "--list")
    assert result.returncode == 130
    assert result.stderr in ("", "numascape: error: interrupted\n")
    assert result.stdout == ""


def test_inside_a_module_that_handles_all_errors(tmp_path: Path) -> None:
    """Python does not raise errors of a callback, so the interrupt would be lost."""
    (tmp_path / "shlex.py").write_text("try:\n    import interrupts_here\nexcept:\n    pass\n")
    result = _interrupted(tmp_path, "interrupts_here", "machine", "show", "--list")
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "")


def test_when_the_command_ends(tmp_path: Path) -> None:
    code = (
        "import sys, signal; from numascape.cli import entry, start; "
        "entry.run = lambda _: 0; "
        "entry.end_process = lambda _: signal.raise_signal(signal.SIGINT); start.main()"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300
    )
    assert (result.returncode, result.stderr) == (130, "")


def test_an_ignored_interrupt_stays_ignored(tmp_path: Path) -> None:
    result = _interrupted(
        tmp_path, "numascape.cli.entry", "machine", "show", "--list", ignored=True
    )
    assert result.returncode == 0
    assert "xeon-x7550" in result.stdout
