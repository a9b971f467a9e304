# SPDX-License-Identifier: Apache-2.0
"""The file trace.json, which describes the whole run.

The fields of this module are checked strictly. Unknown fields are ignored, so that later versions
can add fields. docs/trace-format.md has the meaning and unit of each field.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from numascape.errors import NumascapeError
from numascape.json_documents import first_problem, read_header
from numascape.machine.bounds import Bounds, first_breach
from numascape.machine.description import Count, Machine, machine_problem
from numascape.machine.kernel_files import HugePages
from numascape.trace.format import FORMAT, FORMER_NAMES, REQUIRED, VERSION

if TYPE_CHECKING:
    from pydantic import TypeAdapter

FILE_NAME: Final = "trace.json"
JOB_FILE: Final = "job.json"
# A run of 1024 threads on a machine with 64 nodes needs less than a hundredth of this.
LARGEST_FILE: Final = 16 << 20


Seconds = Annotated[float, Bounds(ge=0)]
Fraction = Annotated[float, Bounds(ge=0, le=1)]


Counts = Literal["accesses", "first touches", "samples"]

PERF: Final = "perf"
"""The name of the recorder of samples that perf recorded."""
PAGE_FAULTS: Final = "page-faults"
"""An event of the samples recorder: the kernel reports each page fault, not some accesses."""

RankText = Annotated[str, Bounds(max_length=2000)]
"""A list of ranks such as `0,7,100-107`."""


@dataclass(frozen=True)
class CountedWork:
    """The part of the work that bursts counted, if its share changed during the run.

    `share` is that of all work. A unit of work stands for `weight` units on average: the inverse of
    the share which was in force, over the whole work.
    """

    share: Fraction
    weight: Annotated[float, Bounds(ge=1)]


@dataclass(frozen=True)
class Recorder:
    """The recorder, its options, and what its counts mean.

    `first touches`: the trace has no accesses. `samples`: it has samples of accesses, taken at so
    many `moments`, or each separately if that is 0. Unless `by_thread`, it is unknown which threads
    made the accesses: the trace has one thread for all.
    """

    name: str
    version: str
    options: dict[str, Any] = field(default_factory=dict)
    counts: Counts = "accesses"
    moments: Count = 0
    by_thread: bool = True
    counted_work: CountedWork | None = None


@dataclass(frozen=True)
class Host:
    """The system that the program ran on.

    `huge_pages` is when the kernel gives memory pages of 2 MiB (empty: unknown). It may change, so
    hosts with another value can be the same one.
    """

    name: str
    kernel: str
    cpus: Count
    nodes: Count
    memory_bytes: Count
    huge_pages: HugePages = field(default="", compare=False)


@dataclass(frozen=True)
class Times:
    """Seconds with the recorder and, if known, CPU seconds with it and without it.

    `estimated_native_cpu_s` was estimated during the recorded run, to hold a cost.
    """

    wall_s: Seconds
    cpu_s: Seconds | None
    native_cpu_s: Seconds | None = None
    estimated_native_cpu_s: Seconds | None = None


@dataclass(frozen=True)
class Process:
    """One process of the run; a forked child is another process."""

    process: Count
    pid: Count
    program: str


@dataclass(frozen=True)
class Totals:
    """Sums over the whole run; `counted` sums are computed before the owners are known."""

    reads: Count
    writes: Count
    pages: Count
    threads: Count
    counted_reads: Count | None = None
    counted_writes: Count | None = None


@dataclass(frozen=True)
class JobPart:
    """The place of the run in a job (see trace/job.py), and the CPUs that the rank may use.

    `clock_ns` is CLOCK_MONOTONIC at the run's start, to compare the times of ranks of one host.
    """

    job: Annotated[str, Bounds(max_length=200)]
    rank: Count
    size: Count | None = None
    launcher: Annotated[str, Bounds(max_length=200)] = ""
    recorded: RankText = ""
    cpus: tuple[Count, ...] = ()
    clock_ns: Count = 0


@dataclass(frozen=True)
class TableFile:
    """The rows, the size and zlib's CRC-32 of a table's file, to detect damage."""

    rows: Count
    bytes: Count
    crc32: Count


@dataclass(frozen=True)
class TraceInfo:
    """The content of trace.json. `write_trace` fills in `tables`.

    `exit_status` is None if the end of the program was not seen. `part` is None unless the run is
    a rank of a job.
    """

    program: str
    arguments: tuple[str, ...]
    recorder: Recorder
    host: Host
    machine: Machine
    page_size: Annotated[int, Bounds(ge=512, le=1 << 30)]
    started: str
    times: Times
    exit_status: int | None
    processes: tuple[Process, ...]
    totals: Totals
    attributed_share: Fraction
    unseen: tuple[str, ...] = ()
    tables: dict[str, TableFile] = field(default_factory=dict)
    part: JobPart | None = None
    format: str = FORMAT
    version: int = VERSION


# Built when it is first used (numascape/json_documents.py).
@cache
def _info() -> TypeAdapter[TraceInfo]:
    from pydantic import TypeAdapter

    return TypeAdapter(TraceInfo)


def read_info(folder: Path) -> TraceInfo:
    """Read and check trace.json of the trace in `folder`; NumascapeError says what is wrong."""
    from pydantic import ValidationError

    path = folder / FILE_NAME
    if not folder.exists():
        raise NumascapeError(f"{folder} does not exist")
    if not path.is_file():
        if (folder / JOB_FILE).is_file():
            raise NumascapeError(
                f"{folder} is a job, and this needs the trace of one rank: give "
                f"{folder / 'rank=0'}, or another rank (numascape show {folder} lists them)"
            )
        raise NumascapeError(f"{folder} is not a trace: it has no file {FILE_NAME}")
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise NumascapeError(f"{path} is damaged: it is larger than {LARGEST_FILE >> 20} MiB")
        text = path.read_bytes()
    except OSError as error:
        raise NumascapeError(f"cannot read {path}: {error.strerror}") from error
    try:
        header = read_header(text)
        if header.format != FORMAT:
            raise NumascapeError(f"{path} is not a trace: its format is {header.format[:40]!r}")
        if header.version != VERSION:
            raise NumascapeError(
                f"{folder} has format version {header.version}, but this Numascape reads version "
                f"{VERSION}: use the Numascape that recorded it, or record the program again"
            )
        info = _info().validate_json(text, strict=True)
    except ValidationError as error:
        raise NumascapeError(f"{path} is damaged: {first_problem(error)}") from error
    wrong = machine_problem(info.machine)
    if wrong is not None:
        raise NumascapeError(f"{path} is damaged: machine: {wrong}")
    for table in REQUIRED:
        if table not in info.tables:
            raise NumascapeError(f"{path} is damaged: it does not list the table {table}")
    present = {former: name for name, former in FORMER_NAMES.items()}
    tables = {present.get(name, name): file for name, file in info.tables.items()}
    return dataclasses.replace(info, tables=tables)


def encode_info(info: TraceInfo) -> bytes:
    """The text of trace.json; NumascapeError if a value is out of its range."""
    wrong = first_breach(info)
    if wrong is not None:
        raise NumascapeError(f"{FILE_NAME}: {wrong}")
    # A program's name may contain bytes that are not text. JSON has no such bytes; they become "?".
    content = dataclasses.asdict(info)
    if info.part is None:
        del content["part"]
    text = json.dumps(content, indent=1, ensure_ascii=False)
    return text.encode(errors="replace") + b"\n"
