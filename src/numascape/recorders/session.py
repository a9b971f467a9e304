# SPDX-License-Identifier: Apache-2.0
"""A recording under way: the folder beside the trace into which the processes write their shards.

The folder describes itself (session.json), so that a recording whose Numascape was killed can
still be converted.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import platform
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from numascape.errors import NumascapeError
from numascape.machine.description import Machine
from numascape.machine.sources import read_host
from numascape.recorders.modelled_cache import ModelledCache
from numascape.trace.host import this_host
from numascape.trace.info import Host

FILE_NAME = "session.json"


@dataclass(frozen=True)
class Ended:
    """How the run ended. Times in seconds; CPU time is user plus system of all its processes.

    `cpus` are the CPUs each thread was seen on, by "PID/TID"; `native_cpu_s` the CPU time of a run
    without recording, if there was one.
    """

    exit_status: int = 0
    signal: int | None = None
    wall_s: float = 0.0
    cpu_s: float = 0.0
    cpus: dict[str, list[int]] = field(default_factory=dict)
    native_cpu_s: float | None = None


@dataclass(frozen=True)
class Session:
    """The folder of shards, what was asked for, and where it runs.

    `ended` is None while the program runs. Converting may be another host's work, or that of this
    one after its CPUs changed: what the recording one was like is kept. `phases` says what begins a
    phase (`all` is regions and marks), unless there is a time slice of `every_s` seconds.
    `recorder` is `binary`, `compiled` or `faults`. With a `cache`, lines of memory are counted too.
    """

    folder: Path
    program: list[str]
    stack: bool
    started: str
    host: Host
    machine: Machine
    ended: Ended | None = None
    phases: str = "all"
    every_s: float | None = None
    lines: bool = True
    recorder: str = "binary"
    cache: ModelledCache | None = None

    def save(self) -> None:
        """Write session.json; the session must stay convertible at any moment."""
        content = dataclasses.asdict(self)
        del content["folder"]
        path = self.folder / FILE_NAME
        beside = path.with_suffix(".part")
        beside.write_text(json.dumps(content), encoding="utf-8", errors="surrogateescape")
        beside.replace(path)

    def shards(self) -> list[Path]:
        """The shards written so far."""
        return sorted(self.folder.glob("*.shard"))

    def discard_if_empty(self) -> None:
        """Remove the folder unless it holds a shard."""
        if not self.shards():
            shutil.rmtree(self.folder, ignore_errors=True)


def begin_session(
    target: Path,
    program: list[str],
    stack: bool,
    phases: str = "all",
    every_s: float | None = None,
    lines: bool = True,
    recorder: str = "binary",
    cache: ModelledCache | None = None,
) -> Session:
    """Make the folder of a new session beside the trace `target`; NumascapeError if impossible."""
    try:
        folder = Path(tempfile.mkdtemp(prefix=f"{target.name}.recording-", dir=target.parent))
        started = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        machine = read_host()
        host = this_host(Path("/"), platform.uname(), machine)
        session = Session(
            *(folder.absolute(), program, stack, started, host, machine),
            phases=phases,
            every_s=every_s,
            lines=lines,
            recorder=recorder,
            cache=cache,
        )
        session.save()
    except OSError as error:
        raise NumascapeError(f"cannot record into {target.parent}: {error.strerror}") from error
    return session


_SESSION: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])
_ENDED = TypeAdapter(Ended | None)
_HOST = TypeAdapter(Host)
_MACHINE = TypeAdapter(Machine)
_CACHE = TypeAdapter(ModelledCache | None)


def read_session(folder: Path) -> Session:
    """The session in `folder`; NumascapeError when it is none."""
    path = folder / FILE_NAME
    try:
        content = _SESSION.validate_json(path.read_bytes())
        return Session(
            folder=folder.absolute(),
            program=TypeAdapter(list[str]).validate_python(content.get("program")),
            stack=bool(content.get("stack", True)),
            lines=bool(content.get("lines", True)),
            recorder=str(content.get("recorder", "binary")),
            started=str(content.get("started", "")),
            host=_HOST.validate_python(content.get("host")),
            machine=_MACHINE.validate_python(content.get("machine")),
            ended=_ENDED.validate_python(content.get("ended")),
            phases=str(content.get("phases", "all")),
            every_s=TypeAdapter(float | None).validate_python(content.get("every_s")),
            cache=_CACHE.validate_python(content.get("cache")),
        )
    except FileNotFoundError as error:
        raise NumascapeError(f"{folder} is not an unfinished recording: no {FILE_NAME}") from error
    except OSError as error:
        raise NumascapeError(f"cannot read {path}: {error.strerror}") from error
    except (ValidationError, ValueError) as error:
        raise NumascapeError(f"{path} is damaged") from error
