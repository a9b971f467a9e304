# SPDX-License-Identifier: Apache-2.0
"""vt's and LBAF's JSON files of load balancing data: one file per rank, perhaps Brotli.

Memory is in the `user_defined` values of tasks, as LBAF's memory model names them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field, TypeAdapter, ValidationError

from numascape.balance.formats.bounded import first_wrong_value, read_bytes
from numascape.balance.formats.lbaf_memory import TaskMemory
from numascape.balance.graph import TaskGraph, task_graph
from numascape.errors import NumascapeError

LBAF_NAME: Final = r"^(?P<stem>.+)\.(?P<rank>\d{1,7})\.json(\.br|\.gz)?$"
"""vt's names of the files: data.0.json, data.1.json..."""

_RANK_NAME: Final = r"^(?P<stem>.+)\.(?P<rank>\d{1,7})(?P<rest>(\.[A-Za-z]\w*)*)$"
"""The files of a data set may have other names: old.0, run.0.vom.gz."""

_Amount = Annotated[float, Field(ge=0, le=1e200, allow_inf_nan=False)]


@dataclass(frozen=True)
class _Entity:
    """A task or its communication partner; older files have `id`, newer ones `seq_id`."""

    id: int | None = None
    seq_id: int | None = None
    migratable: bool = True
    type: str = "object"

    @property
    def number(self) -> int | None:
        return self.id if self.id is not None else self.seq_id


@dataclass(frozen=True)
class _Task:
    entity: _Entity
    time: _Amount
    node: int = 0
    # Programs put values of their own here, too.
    user_defined: dict[str, Any] | None = None


@dataclass(frozen=True)
class _Edge:
    sender: Annotated[_Entity, Field(validation_alias="from")]
    to: _Entity
    bytes: _Amount = 0.0
    messages: _Amount = 1.0


@dataclass(frozen=True)
class _Phase:
    id: int
    tasks: list[_Task]
    communications: list[_Edge] | None = None


@dataclass(frozen=True)
class _File:
    phases: list[_Phase]


_FILE: Final = TypeAdapter(_File)


def rank_files(path: Path) -> dict[int, Path]:
    """The file of each rank in the data set that `path` belongs to."""
    named = _set_and_rank(path.name)
    if named is None:
        return {0: path}
    found = {}
    for other in sorted(path.parent.iterdir()):
        match = _set_and_rank(other.name)
        if match and match[0] == named[0]:
            found[match[1]] = other
    return found or {0: path}


def _set_and_rank(name: str) -> tuple[tuple[str, str], int] | None:
    """The parts that all file names of a data set have in common, and the rank."""
    match = re.match(_RANK_NAME, name)
    if match is None:
        return None
    rest = match["rest"].removesuffix(".br").removesuffix(".gz")
    return (match["stem"], rest), int(match["rank"])


def read_lbaf(path: Path, cores: int) -> TaskGraph:
    """Read the last phase that all ranks have; each rank is a core."""
    files = {rank: _read(file) for rank, file in rank_files(path).items()}
    last = _last_common(path, files)
    place: dict[int, int] = {}
    load: list[float] = []
    core: list[int] = []
    fixed: list[bool] = []
    edges: list[_Edge] = []
    memory = TaskMemory()
    for rank, file in sorted(files.items()):
        phase = next(phase for phase in file.phases if phase.id == last)
        for task in phase.tasks:
            number = task.entity.number
            if number is None or number in place:
                raise NumascapeError(f"{path}: phase {last} has several tasks with number {number}")
            place[number] = len(load)
            load.append(task.time)
            core.append(rank)
            fixed.append(not task.entity.migratable)
            memory.add(path, rank, task.user_defined)
        edges += phase.communications or []
    known = [e for e in edges if e.sender.number in place and e.to.number in place]
    graph = task_graph(
        load, core,
        [place[e.sender.number] for e in known if e.sender.number is not None],
        [place[e.to.number] for e in known if e.to.number is not None],
        bytes=[e.bytes for e in known], count=[e.messages for e in known], fixed=fixed,
    )  # fmt: skip
    return memory.added_to(graph, cores)


def last_common_phase(path: Path) -> int:
    """The phase that read_lbaf takes. Raises NumascapeError."""
    return _last_common(path, {rank: _read(file) for rank, file in rank_files(path).items()})


def _last_common(path: Path, files: dict[int, _File]) -> int:
    phases = set.intersection(*({phase.id for phase in file.phases} for file in files.values()))
    if not phases:
        raise NumascapeError(f"{path}: there is no phase that all its {len(files)} ranks have")
    return max(phases)


def _read(path: Path) -> _File:
    try:
        return _FILE.validate_json(read_bytes(path))
    except ValidationError as error:
        raise NumascapeError(
            f"{path} is not a file of vt or LBAF: {first_wrong_value(error)}"
        ) from error
