# SPDX-License-Identifier: Apache-2.0
"""Threads that start while the others are moved are moved, too."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from numascape.live.affinity import ThreadMove, move_threads
from numascape.live.targets import target_of
from numascape.live.threads import read_threads

# Starts a thread for each line.
STARTS = """
import sys, threading
print("ready", flush=True)
for line in sys.stdin:
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    print("started", flush=True)
"""


@pytest.mark.program
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
def test_a_thread_that_starts_meanwhile_elsewhere_is_named() -> None:
    first, *_ = cpus = sorted(os.sched_getaffinity(0))
    with subprocess.Popen([sys.executable, "-c", STARTS], stdin=-1, stdout=-1) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        hear, say = process.stdout, process.stdin

        def start() -> None:
            say.write(b"\n")
            say.flush()
            assert hear.readline() == b"started\n"

        assert hear.readline() == b"ready\n"
        target = target_of(process.pid)
        assert target is not None
        (main,) = read_threads(target)
        move = ThreadMove(main.tid, main.name, main.started, tuple(cpus), (first,))
        start()  # by a thread that is still on all CPUs
        moved = move_threads(target, [move], lambda: False, is_every=True)
        start()  # by a thread that was moved
        again = move_threads(target, [move], lambda: False, is_every=True)
        alone = move_threads(target, [move], lambda: False)
        process.kill()
    assert moved.failed == again.failed == {"started meanwhile: run the command again": 1}
    assert (moved.moved, alone.failed) == (1, {})
