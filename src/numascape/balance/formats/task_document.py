# SPDX-License-Identifier: Apache-2.0
"""Numascape's own JSON document of tasks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import numpy as np
from pydantic import Field, TypeAdapter, ValidationError

from numascape.balance.formats.bounded import first_wrong_value, read_bytes
from numascape.balance.generators import blocks
from numascape.balance.graph import TaskGraph, task_graph
from numascape.errors import NumascapeError

FORMAT: Final = "numascape tasks"
VERSION: Final = 1

_Number = Annotated[float, Field(ge=0, le=1e200, allow_inf_nan=False)]
_Index = Annotated[int, Field(ge=0, lt=1 << 32)]


@dataclass(frozen=True)
class _Messages:
    """One entry per message; bytes and count may be left out."""

    sender: list[_Index]
    receiver: list[_Index]
    bytes: list[_Number] | None = None
    count: list[_Number] | None = None


@dataclass(frozen=True)
class _Document:
    """One entry per task; all but the loads may be left out."""

    format: str
    version: int
    load: list[_Number]
    core: list[_Index] | None = None
    fixed: list[bool] | None = None
    migrated_bytes: list[_Number] | None = None
    memory: list[_Number] | None = None
    background: list[_Number] | None = None
    messages: _Messages | None = None


_DOCUMENT: Final = TypeAdapter(_Document)


def read_document(path: Path, cores: int) -> TaskGraph:
    """The tasks of a JSON document; NumascapeError says what is wrong."""
    try:
        document = _DOCUMENT.validate_json(read_bytes(path))
    except ValidationError as error:
        raise NumascapeError(
            f"{path} is not a valid document of tasks: {first_wrong_value(error)}"
        ) from error
    if document.format != FORMAT or document.version != VERSION:
        raise NumascapeError(
            f"{path} is {document.format[:40]!r} version {document.version}, but this Numascape "
            f"reads {FORMAT!r} version {VERSION}"
        )
    return graph_of_columns(
        path,
        cores,
        {name: getattr(document, name) for name in ("load", "core", "fixed", "migrated_bytes",
                                                    "memory", "background")},
        {name: getattr(document.messages, name, None) for name in ("sender", "receiver", "bytes",
                                                                   "count")},
    )  # fmt: skip


def graph_of_columns(
    path: Path,
    cores: int,
    tasks: dict[str, list[float] | None],
    messages: dict[str, list[float] | None],
) -> TaskGraph:
    """A graph of named columns, all as long as their first."""
    load = tasks["load"] or []
    for name, column in tasks.items():
        if column is not None and name != "background" and len(column) != len(load):
            raise NumascapeError(f"{path}: {name} has {len(column)} entries for {len(load)} tasks")
    sender = messages["sender"] or []
    for name, column in messages.items():
        if column is not None and len(column) != len(sender):
            raise NumascapeError(
                f"{path}: messages have {len(sender)} senders and {len(column)} entries of {name}"
            )
    graph = task_graph(
        load,
        blocks(len(load), cores) if tasks["core"] is None else tasks["core"],
        sender,
        messages["receiver"] or [],
        bytes=messages["bytes"],
        count=messages["count"],
        fixed=tasks["fixed"],
        migrated_bytes=tasks["migrated_bytes"],
        memory=tasks["memory"],
    )
    if tasks.get("background") is None:
        return graph
    fields = {**graph.__dict__, "background": np.array(tasks["background"], np.float64)}
    return TaskGraph(**fields)
