# SPDX-License-Identifier: Apache-2.0
"""The compared observers of a program: each runs a command and measures its cost.

An observer's cost is that of the observed program. For Numascape, this is the recorded process, as
the trace states it. Starting Python and converting the shards happens once per recording and does
not grow with the program's accesses; it is measured separately (`numascape_command`).
"""

import json
import sysconfig
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.measure import Cost, run
from numascape.installation import installed_file

COMMAND = Path(sysconfig.get_path("scripts")) / "numascape"


@dataclass(frozen=True)
class Observer:
    name: str
    run: Callable[[Sequence[str]], Cost]


def record_command(
    trace: Path,
    command: Sequence[str],
    recorder: str = "binary",
    options: Sequence[str] = (),
    numascape: Path = COMMAND,
) -> list[str]:
    words = [str(numascape), "record", "--quiet", "--recorder", recorder, "-o", str(trace)]
    return [*words, *options, "--", *command]


def recorded_cost(
    command: Sequence[str], options: Sequence[str] = (), numascape: Path = COMMAND
) -> Cost:
    """Cost of the recorded process, with the command of this or of another installation."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "run.numascape"
        run(record_command(trace, command, options=options, numascape=numascape))
        times = json.loads((trace / "trace.json").read_text())["times"]
    return Cost(times["cpu_s"], times["wall_s"])


def numascape_command(command: Sequence[str], recorder: str = "binary") -> Cost:
    """Cost of the whole command, from the shell's prompt to the trace."""
    with tempfile.TemporaryDirectory() as folder:
        return run(record_command(Path(folder) / "run.numascape", command, recorder))


def bare_dynamorio(command: Sequence[str]) -> Cost:
    """DynamoRIO without a client: the cost of running translated code."""
    home = installed_file("_recorder")
    with tempfile.TemporaryDirectory() as folder:
        return run([str(home / "numascape-launch"), str(home), folder, "bare", "--", *command])


def cachegrind(command: Sequence[str]) -> Cost:
    return run(["valgrind", "-q", "--tool=cachegrind", "--cachegrind-out-file=/dev/null", *command])


def lackey(command: Sequence[str]) -> Cost:
    tool = ["--tool=lackey", "--trace-mem=yes", "--basic-counts=no", "--log-file=/dev/null"]
    return run(["valgrind", "-q", *tool, *command])


NATIVE = Observer("native", run)
NUMASCAPE = Observer("numascape", recorded_cost)
BARE_DYNAMORIO = Observer("bare DynamoRIO", bare_dynamorio)
CACHEGRIND = Observer("cachegrind", cachegrind)
LACKEY = Observer("lackey --trace-mem", lackey)


def fast_observers() -> list[Observer]:
    """Observers that are fast enough to run repeatedly at the full sizes."""
    return [NUMASCAPE, BARE_DYNAMORIO]
