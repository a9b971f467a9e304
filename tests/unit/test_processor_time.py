# SPDX-License-Identifier: Apache-2.0
"""The processor time of a test includes the processes that it starts."""

import subprocess
import sys

import pytest

from processor_time import spent_s

LEAST_S = 0.2
# It works for the given time, in a child of its own if asked, and then waits for the end of input.
WORKS = f"""
import subprocess, sys, time
while time.process_time() < {LEAST_S}: pass
print(flush=True)
sys.stdin.read()
"""
IN_A_CHILD = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {WORKS!r}])"


@pytest.mark.program
@pytest.mark.parametrize("program", [WORKS, IN_A_CHILD])
def test_children_count_while_they_live_and_afterwards(program: str) -> None:
    before_s = spent_s()
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert spent_s() - before_s >= 0.9 * LEAST_S  # the kernel counts in ticks
    assert spent_s() - before_s >= 0.9 * LEAST_S
