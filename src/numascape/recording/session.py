# SPDX-License-Identifier: Apache-2.0
"""A recording in progress: the folder beside the trace to which processes write their shards.

The folder has a description (session.json), so that the recording can still be converted if
Numascape was killed.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import platform
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numascape.errors import NumascapeError
from numascape.machine.description import Machine
from numascape.machine.sources import read_host
from numascape.recording.options import RecorderName, RecordOptions
from numascape.trace.host import this_host
from numascape.trace.info import Host, JobPart

FILE_NAME = "session.json"
# The bytes of a shard's header and of the beginnings of its log and tables.
_MIN_ROOM = 512 << 10


@dataclass(frozen=True)
class Ended:
    """The end of the run. Times are in seconds; CPU time is user plus system time of all processes.

    `cpus` are the CPUs that each thread was seen on, by "PID/TID". `native_cpu_s` is the CPU time
    of a run without recording, if there was one.
    """

    exit_status: int | None = 0
    signal: int | None = None
    wall_s: float = 0.0
    cpu_s: float = 0.0
    cpus: dict[str, list[int]] = field(default_factory=dict)
    native_cpu_s: float | None = None


@dataclass(frozen=True)
class Session:
    """The folder of shards, the options, and the host.

    `ended` is None while the program runs. The description of the host is stored, because the
    conversion may run on another host, or after the CPUs of this host changed. The options contain
    the recorder. `part` is the place in a job, or None.
    """

    folder: Path
    program: list[str]
    options: RecordOptions
    started: str
    host: Host
    machine: Machine
    ended: Ended | None = None
    part: JobPart | None = None

    @property
    def recorder(self) -> RecorderName:
        """The recorder that runs the program."""
        return self.options.recorder or "binary"

    def save(self) -> None:
        """Write session.json, so that the session can be converted at any time."""
        content = dataclasses.asdict(self)
        del content["folder"]
        path = self.folder / FILE_NAME
        beside = path.with_suffix(".part")
        beside.write_text(json.dumps(content), encoding="utf-8", errors="surrogateescape")
        beside.replace(path)

    def shards(self) -> list[Path]:
        """The shards so far, without those that were not begun because the disk was full."""
        return sorted(path for path in self.folder.glob("*.shard") if _is_begun(path))

    def check_room(self) -> None:
        """Raise NumascapeError if no shard could be begun because the disk was full."""
        if not self.shards() and any(self.folder.glob("*.shard")):
            raise NumascapeError(_no_room(self.folder.parent))

    def discard_if_empty(self) -> None:
        """Remove the folder unless it holds a shard."""
        if not self.shards():
            shutil.rmtree(self.folder, ignore_errors=True)


def _is_begun(shard: Path) -> bool:
    with shard.open("rb") as file:
        return any(file.read(8))  # ShardHeader.magic, which is written last


def _no_room(folder: Path) -> str:
    return f"the disk of {folder} is full: make room there, or name another place with -o"


def begin_session(
    target: Path, program: list[str], options: RecordOptions, part: JobPart | None = None
) -> Session:
    """Make the folder of a new session beside the trace `target`; NumascapeError if it fails."""
    try:
        disk = os.statvfs(target.parent)
        if disk.f_bavail * disk.f_frsize < _MIN_ROOM:
            raise NumascapeError(_no_room(target.parent))
        folder = Path(tempfile.mkdtemp(prefix=f"{target.name}.recording-", dir=target.parent))
        started = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        machine = read_host()
        host = this_host(Path("/"), platform.uname(), machine)
        session = Session(folder.absolute(), program, options, started, host, machine, part=part)
        session.save()
    except OSError as error:
        raise NumascapeError(f"cannot record into {target.parent}: {error.strerror}") from error
    return session


@dataclass(frozen=True)
class _Document:
    """The fields that session.json must contain; more fields are allowed."""

    program: list[str]
    options: RecordOptions
    host: Host
    machine: Machine
    ended: Ended | None = None
    part: JobPart | None = None
    started: Any = ""


def read_session(folder: Path) -> Session:
    """The session in `folder`; NumascapeError if it is not a session."""
    # Imported here, because a recording does not read its own session.
    from pydantic import TypeAdapter, ValidationError

    path = folder / FILE_NAME
    try:
        content = TypeAdapter(_Document).validate_json(path.read_bytes())
        return Session(
            folder=folder.absolute(),
            program=content.program,
            options=content.options,
            started=str(content.started),
            host=content.host,
            machine=content.machine,
            ended=content.ended,
            part=content.part,
        )
    except FileNotFoundError as error:
        raise NumascapeError(f"{folder} is not an unfinished recording: no {FILE_NAME}") from error
    except OSError as error:
        raise NumascapeError(f"cannot read {path}: {error.strerror}") from error
    except (ValidationError, ValueError) as error:
        raise NumascapeError(f"{path} is damaged") from error
