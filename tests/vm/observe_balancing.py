# SPDX-License-Identifier: Apache-2.0
"""In the guest: observe_balancing.py PROGRAM records the page faults of balanced.c twice.

As `balanced` with the kernel's NUMA balancing, and as `unbalanced` without. Converting is left to
the host: see observe.py.
"""

import sys
from pathlib import Path

from numascape.recorders.record import record_session
from numascape.recording.options import RecordOptions
from numascape.recording.request import RecordRequest
from vm.balancing import often_balanced

MAX_ROUNDS, FEW_ROUNDS = 800, 40
SCANS = 10


def record(name: str, program: list[str]) -> None:
    """Record a program's page faults as NAME.numascape."""
    target = Path(f"{name}.numascape")
    request = RecordRequest(program, target, RecordOptions("faults"))
    ended = record_session(request, program, target, lambda _: None)[1]
    if ended.exit_status != 0:
        sys.exit(f"{name}: exit status {ended.exit_status}")


def main(balanced: str) -> None:
    """Record both."""
    with often_balanced():
        record("balanced", [balanced, str(MAX_ROUNDS), str(SCANS)])
    record("unbalanced", [balanced, str(FEW_ROUNDS), "0"])


main(sys.argv[1])
