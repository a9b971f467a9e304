# SPDX-License-Identifier: Apache-2.0
"""Recording from Python, and the Python in the documents."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import pytest

import numascape
from quality.external import ROOT
from synthetic.heat import heat
from synthetic.write import write_pattern

SNIPPET = re.compile(r"(<!-- not run[^>]*-->\n)?```python\n(.*?)```", re.DOTALL)


def test_a_program_is_recorded_and_its_trace_opened(programs: Path, tmp_path: Path) -> None:
    command = [programs / "globals_pie", programs / "libplugin.so"]
    trace = numascape.record(command, tmp_path / "run.numascape")
    assert trace.info.exit_status == 0
    assert trace.info.recorder.name == "binary"
    rows = trace.accesses.join(trace.structures, on="structure")
    for name, counts in (("zeroed_global", (0, 1024)), ("function_static", (1024, 1024))):
        found = rows.filter(rows["name"] == name)
        assert (found["reads"].sum(), found["writes"].sum()) == counts
    assert trace.source_lines.height > 0
    assert numascape.open(tmp_path / "run.numascape").summary().equals(trace.summary())


def test_named_options_reach_the_recorder(programs: Path, tmp_path: Path) -> None:
    trace = numascape.record(
        [str(programs / "globals_pie"), str(programs / "libplugin.so")],
        str(tmp_path / "run.numascape"),
        stack=False,
        source_lines=False,
        phases="none",
        traffic=True,
        cache="1M,16,64",
    )
    assert trace.info.recorder.options == {
        "stack": False,
        "source_lines": False,
        "phases": "none",
        "traffic": True,
        "cache": {"bytes": 1 << 20, "ways": 16, "line_bytes": 64},
    }
    assert trace.source_lines.is_empty()
    assert trace.accesses["memory_lines"].sum() > 0


def test_without_a_name_the_trace_is_in_a_folder_for_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    trace = numascape.record(["false"], recorder="faults")
    assert trace.info.exit_status == 1
    assert trace.info.recorder.name == "faults"
    assert [path.name for path in tmp_path.glob("*/*")] == ["false.numascape"]


def test_a_program_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(numascape.NumascapeError, match="no-such-program"):
        numascape.record([tmp_path / "no-such-program"], tmp_path / "run.numascape")
    assert list(tmp_path.iterdir()) == []


def snippets(document: Path) -> str:
    """All Python of a document that the test runs, as one program."""
    found = [code for not_run, code in SNIPPET.findall(document.read_text()) if not not_run]
    assert found, document
    return "\n".join(found)


@pytest.mark.parametrize(
    "document",
    ["README.md", "docs/python.md", "docs/plot.md", "docs/plan.md", "docs/how-to/python.md"],
)
def test_the_documents_python_runs(programs: Path, tmp_path: Path, document: str) -> None:
    """In a folder with a trace `run.numascape`, a `./program`, and the files of the document."""
    pattern = heat()
    pattern.phases[-1] = (pattern.phases[-1][0], "solve", *pattern.phases[-1][2:])
    write_pattern(pattern, tmp_path / "run.numascape")
    shutil.copy(programs / "heap", tmp_path / "program")
    text = (ROOT / document).read_text()
    for name, code in re.findall(r"```python\n# (\S+\.py)\n(.*?)```", text, re.DOTALL):
        (tmp_path / name).write_text(code)
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", snippets(ROOT / document)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={"MPLBACKEND": "agg", "PATH": f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}"},
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")
