# SPDX-License-Identifier: Apache-2.0
"""The ways to run a program: alone, under each recorder, under a plan, and attached to."""

from __future__ import annotations

import os
import signal
import subprocess
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

import numascape
from behaviour.repeating import repeating
from behaviour.waiting import LIMIT_S, wait_for
from integration.loaded_command import loaded, run_loaded
from integration.totals import check_totals

COMMAND = Path(sysconfig.get_path("scripts")) / "numascape"
NATIVE, BINARY, BURSTS, COMPILED, FAULTS, PLAN, ATTACH = WAYS = (
    "native",
    "binary",
    "bursts",
    "compiled",
    "faults",
    "plan",
    "attach",
)
# For any program, without a special build.
WAYS_OF_ANY = (BINARY, FAULTS, PLAN, ATTACH)
_RECORDERS_THREAD = "numascape"
# At each attach, the program's threads are at other places in their code.
ATTACHES = 3


@dataclass(frozen=True)
class Behaviour:
    """The output of a program, and its exit status as in a shell."""

    output: str
    errors: str
    status: int


def wrapped(way: str, folder: Path, program: Sequence[str | Path]) -> list[str]:
    """Return the command that runs the program in this way; not for attaching."""
    command: list[str | Path]
    if way == NATIVE:
        command = []
    elif way == PLAN:
        (folder / "plan.toml").write_text(plan())
        command = [COMMAND, "run", "--plan", folder / "plan.toml", "--"]
    elif way == BURSTS:
        share = ["--sample", "0.3"]
        command = [COMMAND, "record", "-q", *share, "-o", trace_in(folder), "--"]
    else:
        command = [COMMAND, "record", "-q", "--recorder", way, "-o", trace_in(folder), "--"]
    return [str(word) for word in [*command, *program]]


def plan() -> str:
    """Return a plan that affects most programs."""
    cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    return f"""
format = "numascape-plan"
version = 1

[[threads]]
order = "0-3"
cpus = "{cpus}"

[[structures]]
name = "block"
policy = "interleave"
nodes = [0]
"""


def trace_in(folder: Path) -> Path:
    return folder / "run.numascape"


def check_trace(folder: Path) -> None:
    """The reader's checks must accept what a recorder wrote, and find all that it counted."""
    opened = numascape.open(trace_in(folder))
    for table in opened.info.tables:
        opened.table(table)
    check_totals(opened)


def behave(
    way: str,
    folder: Path,
    program: Sequence[str | Path],
    environment: dict[str, str] | None = None,
    attaches: int = ATTACHES,
) -> Behaviour:
    """Run a program to its end: once or, for attaching, repeatedly (`rounds.h`).

    With `environment`, the command is started as a new program. Otherwise, a process that has
    loaded the modules already becomes the command.
    """
    if way == ATTACH:
        return _attached(folder, program, attaches)
    command = wrapped(way, folder, program)
    if way == NATIVE or environment is not None:
        found = _started(command, folder, environment)
    else:
        found = run_loaded(command[1:], limit_s=LIMIT_S, folder=folder)
    if way in (BINARY, COMPILED, FAULTS):
        assert trace_in(folder).is_dir(), f"no trace: {found.stdout}{found.stderr}"
        check_trace(folder)
    return Behaviour(found.stdout, found.stderr, shell_status(found.returncode))


def _started(
    command: Sequence[str], folder: Path, environment: dict[str, str] | None
) -> subprocess.CompletedProcess[str]:
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=folder,
        start_new_session=True,
    ) as process:
        try:
            output, errors = process.communicate(timeout=LIMIT_S)
        finally:
            if process.poll() is None:  # with the program, which is a child of its recorder
                os.killpg(process.pid, signal.SIGKILL)
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def shell_status(code: int) -> int:
    return code if code >= 0 else 128 - code


def _attached(folder: Path, program: Sequence[str | Path], attaches: int) -> Behaviour:
    """Run some rounds before, while and after a recorder is attached, several times.

    Their lines are left out.
    """
    with repeating(folder, program) as process:
        process.begin_rounds(1)
        for _ in range(attaches):
            with attached(process.pid, folder, process.lives, process.waiting):
                process.begin_rounds(2)
            process.begin_rounds(1)
        process.begin_rounds(1)
        output = process.end()
    assert output.startswith("round\n")
    errors = (folder / "errors").read_text()
    return Behaviour(output.replace("round\n", ""), errors, shell_status(process.status))


@contextmanager
def attached(
    pid: int,
    folder: Path,
    lives: Callable[[], bool],
    waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Iterator[None]:
    """A recorder is attached while the context is entered; its trace must be valid.

    After the recorder has left, the process waits, if it can, while the trace is made.
    """
    with loaded(["record", "-q", "-o", trace_in(folder), "--pid", pid]) as recorder:

        def ended() -> bool:
            return not lives() or not recorder.process.is_alive()

        wait_for(lambda: _is_recorded(pid) or ended(), f"process {pid} recorded")
        yield
        recorder.process.terminate()
        wait_for(lambda: not _is_recorded(pid) or ended(), f"process {pid} released")
        with waiting():
            status = recorder.wait(LIMIT_S)
            said = recorder.errors.read_text()
            assert not lives() or status == 0, (status, said)
            if lives():
                check_trace(folder)


def _is_recorded(pid: int) -> bool:
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            if (task / "comm").read_text().strip() == _RECORDERS_THREAD:
                return True
    return False
