# SPDX-License-Identifier: Apache-2.0
"""The ways to run a program: alone, under each recorder, under a plan, and attached to."""

from __future__ import annotations

import os
import signal
import subprocess
import sysconfig
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numascape
from integration.loaded_command import loaded, run_loaded

COMMAND = Path(sysconfig.get_path("scripts")) / "numascape"
NATIVE, BINARY, COMPILED, FAULTS, PLAN, ATTACH = WAYS = (
    "native",
    "binary",
    "compiled",
    "faults",
    "plan",
    "attach",
)
# For any program, without a special build.
WAYS_OF_ANY = (BINARY, FAULTS, PLAN, ATTACH)
# Long enough for a busy machine; a program that takes longer hangs.
LIMIT_S = 480
_RECORDERS_THREAD = "numascape"
# Each attach finds the program's threads elsewhere.
ATTACHES = 3


@dataclass(frozen=True)
class Behaviour:
    """The output of a program, and its exit status as in a shell."""

    output: str
    errors: str
    status: int


def wait_for(condition: Callable[[], bool], what: str, limit_s: float = LIMIT_S) -> None:
    """Return when the condition is true; the error names the condition."""
    end = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {limit_s} s")
        time.sleep(0.02)


def wrapped(way: str, folder: Path, program: Sequence[str | Path]) -> list[str]:
    """Return the command that runs the program in this way; not for attaching."""
    command: list[str | Path]
    if way == NATIVE:
        command = []
    elif way == PLAN:
        (folder / "plan.toml").write_text(plan())
        command = [COMMAND, "run", "--plan", folder / "plan.toml", "--"]
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
    """The reader's checks must accept what a recorder wrote."""
    opened = numascape.open(trace_in(folder))
    for table in opened.info.tables:
        opened.table(table)


def behave(
    way: str,
    folder: Path,
    program: Sequence[str | Path],
    environment: dict[str, str] | None = None,
    attaches: int = ATTACHES,
) -> Behaviour:
    """Run a program to its end: once or, for attaching, repeatedly (`rounds.h`).

    With `environment`, the command is started anew, and what it starts with is that of any program.
    Otherwise a process becomes the command that has loaded its modules already.
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
    output, errors = folder / "output", folder / "errors"

    def rounds() -> int:
        return output.read_bytes().count(b"round\n")

    with (
        output.open("wb") as output_file,
        errors.open("wb") as errors_file,
        subprocess.Popen(
            [*map(str, program), "repeat"],
            stdin=subprocess.PIPE,
            stdout=output_file,
            stderr=errors_file,
            cwd=folder,
        ) as process,
    ):
        try:
            begin_a_round(process, rounds, 1)
            for _ in range(attaches):
                with attached(process.pid, folder, lambda: process.poll() is None):
                    begin_a_round(process, rounds, 2)
                begin_a_round(process, rounds, 1)
            begin_a_round(process, rounds, 1)
            process.communicate(b"x", timeout=LIMIT_S)
        finally:
            process.kill()
    text = output.read_text()
    assert text.startswith("round\n")
    return Behaviour(text.replace("round\n", ""), errors.read_text(), shell_status(process.wait()))


def begin_a_round(process: subprocess.Popen[bytes], rounds: Callable[[], int], more: int) -> None:
    """Return when so many more rounds have begun, or when the program has ended."""
    enough = rounds() + more
    wait_for(lambda: rounds() >= enough or process.poll() is not None, f"round {enough}")


@contextmanager
def attached(pid: int, folder: Path, lives: Callable[[], bool]) -> Iterator[None]:
    """A recorder is attached while the context is entered; its trace must be valid."""
    with loaded(["record", "-q", "-o", trace_in(folder), "--pid", pid]) as recorder:
        wait_for(
            lambda: _is_recorded(pid) or not lives() or not recorder.process.is_alive(),
            f"process {pid} recorded",
        )
        yield
        recorder.process.terminate()
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
