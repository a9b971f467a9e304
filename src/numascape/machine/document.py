# SPDX-License-Identifier: Apache-2.0
"""Reads and writes a machine as a JSON document. Files are not trusted; output is readable.

The fields in `description` are checked strictly. Unknown fields are ignored, so that later versions
can add fields.
"""

from __future__ import annotations

import dataclasses
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from numascape.atomic import replacing_file
from numascape.errors import NumascapeError
from numascape.json_documents import first_problem, read_header
from numascape.machine.description import Machine, machine_problem

if TYPE_CHECKING:
    from pydantic import TypeAdapter

FORMAT: Final = "numascape machine"
VERSION: Final = 1
# A complete description of a machine with 64 nodes and 1024 CPUs needs a fiftieth of this.
LARGEST_FILE: Final = 16 << 20


# Built when it is first used (numascape/json_documents.py).
@cache
def _machine() -> TypeAdapter[Machine]:
    from pydantic import TypeAdapter

    return TypeAdapter(Machine)


def read_machine(path: Path) -> Machine:
    """Read and check a machine's JSON document; NumascapeError says what is wrong."""
    return decode_machine(read_bounded(path), str(path))


def read_bounded(path: Path) -> bytes:
    """The file's content; NumascapeError if it cannot be read or is too large."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise NumascapeError(
                f"{path} is not a machine: it is larger than {LARGEST_FILE >> 20} MiB"
            )
        return path.read_bytes()
    except OSError as error:
        raise NumascapeError(f"cannot read {path}: {error.strerror}") from error


def decode_machine(text: bytes, name: str) -> Machine:
    """Decode the text of a document; `name` is its source, for errors."""
    from pydantic import ValidationError

    try:
        header = read_header(text)
        if header.format != FORMAT:
            raise NumascapeError(f"{name} is not a machine: its format is {header.format[:40]!r}")
        if header.version != VERSION:
            raise NumascapeError(
                f"{name} has format version {header.version}, but this Numascape reads version "
                f"{VERSION}: write it again with `numascape machine probe` or export"
            )
        machine = _machine().validate_json(text, strict=True)
    except ValidationError as error:
        raise NumascapeError(f"{name} is not a valid machine: {first_problem(error)}") from error
    wrong = machine_problem(machine)
    if wrong is not None:
        raise NumascapeError(f"{name} is not a valid machine: {wrong}")
    return machine


def encode_machine(machine: Machine) -> bytes:
    """Encode a machine, without empty fields, and with a line per row of a matrix."""
    fields: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    for field in dataclasses.fields(machine):
        value = getattr(machine, field.name)
        if value not in ((), None):
            fields[field.name] = _plain(value)
    return (_text(fields, 0) + "\n").encode()


def write_machine(machine: Machine, path: Path) -> None:
    """Write the document, complete or not at all. Raises OSError."""
    with replacing_file(path) as beside:
        beside.write_bytes(encode_machine(machine))


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return {
            field.name: _plain(getattr(value, field.name))
            for field in dataclasses.fields(value)
            if getattr(value, field.name) not in ("", None) or field.default is dataclasses.MISSING
        }
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _text(value: Any, depth: int) -> str:
    """JSON text with each list of numbers on one line."""
    inner, outer = "\n" + " " * (depth + 1), "\n" + " " * depth
    if isinstance(value, dict) and value:
        items = (f"{json.dumps(key)}: {_text(item, depth + 1)}" for key, item in value.items())
        return "{" + inner + f",{inner}".join(items) + outer + "}"
    if isinstance(value, list) and any(isinstance(item, list | dict) for item in value):
        return (
            "[" + inner + f",{inner}".join(_text(item, depth + 1) for item in value) + outer + "]"
        )
    return json.dumps(value, ensure_ascii=False)
