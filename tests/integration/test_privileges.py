# SPDX-License-Identifier: Apache-2.0
"""Programs that change their privileges work unchanged, and are recorded if possible."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can do this")

AS_ANOTHER_USER = ["--reuid=1000", "--regid=1000", "--clear-groups"]


def test_program_of_another_user_is_recorded(record: Any, tmp_path: Path) -> None:
    script = "id -u; (echo forked); /bin/echo executed; exit 5"
    recording = record("/usr/bin/setpriv", *AS_ANOTHER_USER, "/bin/sh", "-c", script)
    assert (recording.output, recording.status) == ("1000\nforked\nexecuted\n", 5)
    programs = [process.program for process in recording.trace.info.processes]
    assert [Path(program).name for program in programs].count("echo") == 1
    assert not any("that was not recorded" in text for text in recording.trace.info.unseen)


def test_program_in_another_root_runs_by_itself(record: Any, tmp_path: Path) -> None:
    program = tmp_path / "answer"
    source = tmp_path / "answer.c"
    source.write_text('#include <stdio.h>\nint main(void) { puts("inside"); return 6; }\n')
    subprocess.run(["gcc", "-static", "-o", program, source], check=True)
    recording = record("/usr/sbin/chroot", tmp_path, "/answer")
    assert (recording.output, recording.status) == ("inside\n", 6)
    assert any("that was not recorded" in text for text in recording.trace.info.unseen)


def test_child_with_other_privileges_has_them(record: Any, tmp_path: Path) -> None:
    program = tmp_path / "id"
    shutil.copy("/usr/bin/id", program)
    os.chown(program, 1000, -1)
    program.chmod(0o4755)
    tmp_path.chmod(0o755)
    recording = record("/bin/sh", "-c", f"{program} -u; exit 7")
    assert (recording.output, recording.status) == ("1000\n", 7)


@pytest.mark.parametrize(
    ("limit", "recorder"), [("f 100", "binary"), ("v 4000000", "binary"), ("v 4000000", "compiled")]
)
def test_limit_below_what_recording_needs_is_refused(
    command: Path, built: Path, tmp_path: Path, limit: str, recorder: str
) -> None:
    recording = f"{command} record -q --recorder {recorder} -o {tmp_path}/a -- {built}/heap"
    finished = subprocess.run(
        ["sh", "-c", f"ulimit -{limit}; exec {recording}"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
