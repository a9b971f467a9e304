# SPDX-License-Identifier: Apache-2.0
"""Programs in a PID namespace without a /proc of its own, as `unshare --pid` makes it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from integration.attaching import expect_refusal, wait_for

UNSHARE = ["--pid", "--fork", "--kill-child"]
if os.geteuid() != 0:
    UNSHARE = ["--user", "--map-root-user", *UNSHARE]


def test_a_program_in_its_own_pid_namespace_is_recorded(record: Any, programs: Path) -> None:
    alone = record("threads_pthread", 64, 4)
    recording = record("/usr/bin/unshare", *UNSHARE, programs / "threads_pthread", 64, 4)
    assert (recording.output, recording.status) == (alone.output, alone.status)
    assert not any("that was not recorded" in text for text in recording.trace.info.unseen)


def test_a_process_with_other_ids_for_itself_is_refused(programs: Path, tmp_path: Path) -> None:
    command: list[str | Path] = ["unshare", *UNSHARE, programs / "attached", "1"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as around:
        try:
            assert around.stdout is not None
            assert around.stdout.readline() == "ready\n"
            children = Path(f"/proc/{around.pid}/task/{around.pid}/children")
            wait_for(lambda: children.read_text() != "")
            expect_refusal(int(children.read_text()), tmp_path, "a PID namespace")
            assert around.poll() is None
        finally:
            around.kill()
