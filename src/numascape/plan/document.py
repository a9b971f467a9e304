# SPDX-License-Identifier: Apache-2.0
"""Reads and writes a plan as a TOML document. Reading is strict; the output is easy to edit.

An unknown field is an error, because it is probably a typing error in an edited plan. If it were
ignored, the program would not run as its user expects.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import sys
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import tomlkit
from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from numascape.atomic import replacing_file
from numascape.errors import NumascapeError
from numascape.plan.number_lists import format_numbers, parse_numbers
from numascape.plan.plan import LONGEST_TEXT, Plan, RulePolicy, StructureRule, ThreadRule
from numascape.plan.variables import VARIABLES

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FORMAT: Final = "numascape-plan"
VERSION: Final = 1
LARGEST_FILE: Final = 4 << 20
MAX_RULES: Final = 4096
MAX_PARTS: Final = 4096
MAX_NODES: Final = 1024  # the kernel's own bound for x86-64 and AArch64
LARGEST_WEIGHT: Final = 255  # the kernel's

_NOTE: Final = """\
A plan for `numascape run --plan`: where threads run and where memory is.
docs/plan.md of Numascape says what each field means; change what you like.
"""


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("it has characters that cannot be shown")
    return text


def _a_list(text: str) -> str:
    parse_numbers(text)
    return text


def _some(text: str) -> str:
    if not text:
        raise ValueError("it names no CPU")
    return text


def _settable(name: str) -> str:
    if name not in VARIABLES:
        raise ValueError("a plan may not set this variable (docs/plan.md lists those it may)")
    return name


_Text = Annotated[str, Field(max_length=LONGEST_TEXT), AfterValidator(_printable)]
_Name = Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT), AfterValidator(_printable)]
_Numbers = Annotated[str, Field(max_length=LONGEST_TEXT), AfterValidator(_a_list)]
_Variable = Annotated[str, Field(max_length=LONGEST_TEXT), AfterValidator(_settable)]
_Node = Annotated[int, Field(ge=0, lt=MAX_NODES)]
_Weight = Annotated[int, Field(ge=1, le=LARGEST_WEIGHT)]
_Fraction = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
_STRICT: Final = ConfigDict(extra="forbid", strict=True)


@dataclass(frozen=True, config=_STRICT)
class _Threads:
    """The CPUs of some threads, selected by one of `order`, `openmp` and `name`."""

    cpus: Annotated[_Numbers, AfterValidator(_some)]
    order: _Numbers = ""
    openmp: _Numbers = ""
    name: _Text = ""
    together: bool = False


@dataclass(frozen=True, config=_STRICT)
class _Structure:
    """The nodes of a structure's pages."""

    name: _Name
    policy: RulePolicy
    kind: Literal["", "global", "heap", "stack", "mapping"] = ""
    function: _Text = ""
    file: _Text = ""
    line: Annotated[int, Field(ge=0, le=1 << 31)] = 0
    nodes: Annotated[list[_Node], Field(max_length=MAX_PARTS)] = dataclasses.field(
        default_factory=list
    )
    weights: Annotated[list[_Weight], Field(max_length=MAX_PARTS)] = dataclasses.field(
        default_factory=list
    )
    parts: Annotated[list[_Fraction], Field(max_length=MAX_PARTS + 1)] = dataclasses.field(
        default_factory=list
    )
    bytes: Annotated[int, Field(ge=0, lt=1 << 63)] = 0


@dataclass(frozen=True, config=_STRICT)
class _Document:
    """The whole plan."""

    format: Literal["numascape-plan"]
    version: Literal[1]
    program: _Text = ""
    machine: _Text = ""
    recorded_threads: Annotated[int, Field(ge=0, le=1 << 20)] = 0
    environment: dict[_Variable, _Text] = dataclasses.field(default_factory=dict)
    threads: Annotated[list[_Threads], Field(max_length=MAX_RULES)] = dataclasses.field(
        default_factory=list
    )
    structures: Annotated[list[_Structure], Field(max_length=MAX_RULES)] = dataclasses.field(
        default_factory=list
    )


DOCUMENT: Final = TypeAdapter(_Document)
"""The content of a valid document; docs/plan.schema.json is its JSON Schema."""


def read_plan(file: str | os.PathLike[str]) -> Plan:
    """Read and check a plan; NumascapeError says in one line what is wrong and where."""
    path = Path(file)
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise NumascapeError(
                f"{path} is not a plan: it is larger than {LARGEST_FILE >> 20} MiB"
            )
        content = path.read_bytes()
    except OSError as error:
        raise NumascapeError(f"cannot read {path}: {error.strerror}") from error
    return decode_plan(content, str(path))


def decode_plan(content: bytes, name: str) -> Plan:
    """Decode the content of a document; `name` is its source, for errors."""
    try:
        fields = tomllib.loads(content.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        reason = re.sub(r"\s+", " ", str(error))[:200]
        raise NumascapeError(f"{name} is not a plan: it is not TOML: {reason}") from error
    if fields.get("format") != FORMAT:
        raise NumascapeError(f'{name} is not a plan: it does not say format = "{FORMAT}"')
    if fields.get("version") != VERSION:
        raise NumascapeError(
            f"{name} does not have format version {VERSION}, the only one that this Numascape "
            "reads: write it again with `numascape advise`"
        )
    try:
        document = DOCUMENT.validate_json(json.dumps(fields, default=str))
    except ValidationError as error:
        raise NumascapeError(f"{name} is not a valid plan: {_first_problem(error)}") from error
    plan = _plan(document)
    wrong = plan_problem(plan)
    if wrong is not None:
        raise NumascapeError(f"{name} is not a valid plan: {wrong}")
    return plan


def plan_problem(plan: Plan) -> str | None:
    """Describe a contradiction in a plan, with its place in the document; None if there is none."""
    for number, thread in enumerate(plan.threads, start=1):
        if sum(map(bool, (thread.order, thread.openmp, thread.name))) != 1:
            return f"threads rule {number} must have one of order, openmp and name"
    for number, rule in enumerate(plan.structures, start=1):
        wrong = _rule_problem(rule)
        if wrong is not None:
            return f"structures rule {number} ({rule.name[:60]}): {wrong}"
    return None


def encode_plan(plan: Plan) -> bytes:
    """Encode a plan, without empty fields. Raises ValueError for an invalid plan."""
    wrong = plan_problem(plan)
    if wrong is not None:
        raise ValueError(wrong)
    document = tomlkit.document()
    for line in _NOTE.splitlines():
        document.add(tomlkit.comment(line))
    document.update({"format": FORMAT, "version": VERSION})
    document.update(_filled(plan, ("program", "machine", "recorded_threads")))
    if plan.environment:
        document.add(tomlkit.nl())
        document["environment"] = dict(sorted(plan.environment.items()))
    threads = [
        {**_filled(rule, ("order", "openmp", "name")), "cpus": format_numbers(rule.cpus)}
        | _filled(rule, ("together",))
        for rule in plan.threads
    ]
    names = [field.name for field in dataclasses.fields(StructureRule)]
    structures = [_filled(rule, names) for rule in plan.structures]
    for key, tables in (("threads", threads), ("structures", structures)):
        if tables:
            document[key] = tables
    content = tomlkit.dumps(document).encode()
    decode_plan(content, "the plan")
    return content


def write_plan(plan: Plan, path: str | os.PathLike[str]) -> None:
    """Write the document, complete or not at all. Raises OSError, and ValueError as encode_plan."""
    content = encode_plan(plan)
    with replacing_file(Path(path)) as beside:
        beside.write_bytes(content)


def _plan(document: _Document) -> Plan:
    return Plan(
        threads=tuple(
            ThreadRule(parse_numbers(t.cpus), t.order, t.openmp, t.name, t.together)
            for t in document.threads
        ),
        structures=tuple(
            StructureRule(
                r.name,
                r.policy,
                r.kind,
                r.function,
                r.file,
                r.line,
                tuple(r.nodes),
                tuple(r.weights),
                tuple(r.parts),
                r.bytes,
            )
            for r in document.structures
        ),
        environment=dict(document.environment),
        program=document.program,
        machine=document.machine,
        recorded_threads=document.recorded_threads,
    )


def _rule_problem(rule: StructureRule) -> str | None:
    if rule.policy == "first-touch":
        return "first-touch takes no nodes" if rule.nodes else _superfluous(rule)
    if not rule.nodes:
        return f"{rule.policy} needs nodes"
    if rule.policy == "parts":
        if len(rule.parts) != len(rule.nodes) + 1:
            return f"{len(rule.nodes)} nodes need {len(rule.nodes) + 1} boundaries in parts"
        if rule.parts[0] != 0 or rule.parts[-1] != 1:
            return "parts must begin with 0 and end with 1"
        if any(a >= b for a, b in zip(rule.parts, rule.parts[1:], strict=False)):
            return "parts must rise"
    elif len(set(rule.nodes)) != len(rule.nodes):
        return "nodes has a node twice"
    if rule.policy == "weighted-interleave" and len(rule.weights) != len(rule.nodes):
        return f"{len(rule.nodes)} nodes need as many weights"
    return _superfluous(rule)


def _superfluous(rule: StructureRule) -> str | None:
    if rule.weights and rule.policy != "weighted-interleave":
        return f"{rule.policy} takes no weights"
    if rule.parts and rule.policy != "parts":
        return f"{rule.policy} takes no parts"
    return None


def _filled(item: object, names: Any) -> dict[str, Any]:
    found = {name: getattr(item, name) for name in names}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in found.items()
        if value
    }


def _first_problem(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ""
    for part in found["loc"]:
        if part == "[key]":
            continue
        named = re.sub(r"[^\w.-]", "?", str(part))[:60]
        kind = "rule" if where in (".threads", ".structures") else "number"
        where += f" {kind} {part + 1}" if isinstance(part, int) else f".{named}"
    message = found["msg"].removeprefix("Value error, ")
    if found["type"] == "unexpected_keyword_argument":
        message = "there is no such field"
    return f"{where.lstrip('.')}: {message}" if where else message
