# SPDX-License-Identifier: Apache-2.0
"""In a guest: runs programs under plans, all from one process: Python starts slowly there.

run_plans.py JOBS: a JSON list of [name, words after `numascape`]. A job's output goes to NAME.out
and NAME.err, its exit status is printed.
"""

import json
import os
import sys
from pathlib import Path

from numascape.cli.entry import run

for name, words in json.loads(Path(sys.argv[1]).read_text()):
    kept = os.dup(1), os.dup(2)
    for number, suffix in ((1, "out"), (2, "err")):
        with Path(f"{name}.{suffix}").open("wb") as file:
            os.dup2(file.fileno(), number)
    try:
        status = run(words)
    except SystemExit as ending:
        status = int(str(ending.code))
    sys.stdout.flush()
    sys.stderr.flush()
    for number, former in zip((1, 2), kept, strict=True):
        os.dup2(former, number)
        os.close(former)
    print(name, status, flush=True)
