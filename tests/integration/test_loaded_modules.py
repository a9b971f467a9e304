# SPDX-License-Identifier: Apache-2.0
"""Short commands cost little: they load only the modules that they need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# Each of them takes 0.02 to 0.1 s of CPU time to load.
_NOT_NEEDED = {
    "matplotlib",
    "numpy",
    "pydantic",
    "rich",
    "tarfile",
    "tree_sitter",
    "typer",
}
_CODE = """
import sys
from numascape.cli.entry import run
status = run(sys.argv[1:])
print(*sys.modules)
sys.exit(status)
"""


@pytest.mark.parametrize("recorder", ["usual", "faults"])
def test_a_quiet_recording_loads_no_library_but_polars(tmp_path: Path, recorder: str) -> None:
    trace = tmp_path / "true.numascape"
    options = [] if recorder == "usual" else ["--recorder", recorder]
    result = subprocess.run(
        [sys.executable, "-c", _CODE, "record", "-q", "-o", trace, *options, "--", "true"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(result.stdout.split())
    assert "polars" in loaded
    assert sorted(loaded & _NOT_NEEDED) == []
    assert (trace / "trace.json").is_file()


@pytest.mark.parametrize("words", [["pages", "--json"], ["move", "--json", "--policy", "bind:0"]])
def test_a_look_at_a_process_loads_no_data_frames(tmp_path: Path, words: list[str]) -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        try:
            result = subprocess.run(
                [sys.executable, "-c", _CODE, *words, "--pid", str(process.pid)],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=False,
            )
        finally:
            process.kill()
    loaded = set(result.stdout.split())
    assert "numascape.live.document" in loaded, result.stderr
    assert sorted(loaded & {"matplotlib", "polars"}) == []
