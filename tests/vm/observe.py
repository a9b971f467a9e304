# SPDX-License-Identifier: Apache-2.0
"""In the guest: records programs one after the other, and leaves converting to the host.

observe.py COMMAND...: each is TRACE PROGRAM ARGUMENTS... as a shell would split it. Imports take
15 seconds on an emulated processor, so one process records all. The data frames would take a minute
there, and under QEMU 7.2 the threads of Polars' group-by sometimes crash.
"""

import shlex
import sys
from pathlib import Path

from numascape.recorders.record import record_session
from numascape.recording.request import RecordRequest

for command in sys.argv[1:]:
    name, *program = shlex.split(command)
    target = Path(name)
    request = RecordRequest(program, target)
    ended = record_session(request, program, target, lambda _: None)[1]
    if ended.exit_status != 0:
        sys.exit(f"{command}: exit status {ended.exit_status}")
