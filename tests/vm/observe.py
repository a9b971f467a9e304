# SPDX-License-Identifier: Apache-2.0
"""In the guest: observe.py TRACE PROGRAM ARGUMENTS... records, and leaves converting to the host.

The data frames take a minute on an emulated processor, and there, under QEMU 7.2, the threads of
Polars' group-by sometimes crash.
"""

import sys
from pathlib import Path

from numascape.recorders.record import RecordRequest, observe

target, program = Path(sys.argv[1]), sys.argv[2:]
request = RecordRequest(program, target, pid=None, seconds=None, stack=True, quiet=True)
_, ended = observe(request, program, target, lambda _: None)
sys.exit(ended.exit_status)
