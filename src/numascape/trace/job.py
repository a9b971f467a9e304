# SPDX-License-Identifier: Apache-2.0
"""A job's trace: a folder with job.json and one part for each rank, `rank=3/`.

A part is a trace of its own. Its trace.json says to which job and rank it belongs.
docs/trace-format.md describes the folder.
"""

from __future__ import annotations

import dataclasses
import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from numascape.errors import NumascapeError
from numascape.json_documents import first_problem
from numascape.machine.bounds import Bounds
from numascape.trace.info import FILE_NAME, JOB_FILE, RankText, TraceInfo, read_info

if TYPE_CHECKING:
    from pydantic import TypeAdapter

JOB_FORMAT: Final = "numascape-job"
JOB_VERSION: Final = 1
_LARGEST_FILE: Final = 1 << 20
_PART = re.compile(r"rank=(0|[1-9][0-9]{0,8})")


@dataclass(frozen=True)
class JobInfo:
    """The content of job.json, which every rank writes with the same values.

    `job` distinguishes runs; it is empty if the launcher does not. `size` is the number of ranks,
    if known. `recorded` lists the ranks that were asked for, as `0,7,100-107`; empty: all.
    """

    job: Annotated[str, Bounds(max_length=200)]
    launcher: Annotated[str, Bounds(max_length=200)]
    size: Annotated[int, Bounds(ge=1, le=1 << 24)] | None = None
    recorded: RankText = ""
    format: str = JOB_FORMAT
    version: int = JOB_VERSION


@dataclass(frozen=True)
class LeftOut:
    """A part that cannot be used, or a missing rank; `part` is the name of its folder."""

    rank: int
    part: str
    reason: str


@dataclass(frozen=True)
class RankPart:
    """The part of one rank, whose trace.json was read and checked against job.json."""

    rank: int
    folder: Path
    info: TraceInfo


def part_folder(job: Path, rank: int) -> Path:
    """The folder of a rank's part. Polars, DuckDB and Dask read the rank from its name."""
    return job / f"rank={rank}"


def is_job(folder: Path) -> bool:
    """Whether it is the folder of a job."""
    return (folder / JOB_FILE).is_file() and not (folder / FILE_NAME).exists()


def encode_job(info: JobInfo) -> bytes:
    """The text of job.json."""
    return json.dumps(dataclasses.asdict(info), indent=1).encode() + b"\n"


# Built when it is first used, as that of trace.json.
@cache
def _info() -> TypeAdapter[JobInfo]:
    from pydantic import TypeAdapter

    return TypeAdapter(JobInfo)


def read_job(folder: Path) -> JobInfo:
    """Read and check job.json; NumascapeError says what is wrong."""
    # Imported here, because a recording writes the file and does not read it.
    from pydantic import ValidationError

    path = folder / JOB_FILE
    if not folder.exists():
        raise NumascapeError(f"{folder} does not exist")
    if not path.is_file():
        raise NumascapeError(f"{folder} is not a job: it has no file {JOB_FILE}")
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise NumascapeError(f"{path} is damaged: it is larger than {_LARGEST_FILE >> 20} MiB")
        info = _info().validate_json(path.read_bytes(), strict=True)
    except OSError as error:
        raise NumascapeError(f"cannot read {path}: {error.strerror}") from error
    except ValidationError as error:
        raise NumascapeError(f"{path} is damaged: {first_problem(error)}") from error
    if info.format != JOB_FORMAT:
        raise NumascapeError(f"{path} is not a job: its format is {info.format[:40]!r}")
    if info.version != JOB_VERSION:
        raise NumascapeError(
            f"{folder} has version {info.version} of a job's format, but this Numascape reads "
            f"version {JOB_VERSION}: use the Numascape that recorded it, or record the job again"
        )
    return info


def list_parts(folder: Path) -> tuple[dict[int, Path], list[LeftOut]]:
    """The folders of parts by rank, ascending, and folders whose names are not those of parts."""
    found: dict[int, Path] = {}
    odd: list[LeftOut] = []
    try:
        entries = sorted(path for path in folder.iterdir() if path.name.startswith("rank="))
    except OSError as error:
        raise NumascapeError(f"cannot read {folder}: {error.strerror}") from error
    for path in entries:
        if match := _PART.fullmatch(path.name):
            found[int(match[1])] = path
        else:
            odd.append(LeftOut(-1, path.name[:100], "its name is not that of a part, rank=NUMBER"))
    return dict(sorted(found.items())), odd


def read_part(job: JobInfo, rank: int, folder: Path) -> RankPart:
    """The part of a rank; NumascapeError says why it cannot be used."""
    info = read_info(folder)
    part = info.part
    if part is None:
        raise NumascapeError("it was not recorded as a part of a job")
    if part.job != job.job or part.size != job.size:
        raise NumascapeError(
            f"it belongs to another run (started {info.started[:40]}): record the job again, or "
            "remove this part"
        )
    if part.rank != rank:
        raise NumascapeError(
            f"it is the part of rank {part.rank}: it was renamed, or two parts have one rank"
        )
    return RankPart(rank, folder, info)


def missing_ranks(folder: Path, job: JobInfo, known: set[int]) -> list[LeftOut]:
    """The ranks that were to be recorded and have no part; `known` are those that have one.

    Neighbouring ranks are one item, because a document can claim any number of ranks.
    """
    size = job.size if job.size is not None else max(known, default=-1) + 1
    wanted = parse_ranks(job.recorded) if job.recorded else (range(size),)
    unfinished = _unfinished(folder)
    missing = [
        LeftOut(rank, f"rank={rank}", f"its recording did not finish: numascape convert {path}")
        for rank, path in unfinished.items()
        if rank not in known and any(rank in ranks for ranks in wanted)
    ]
    ranks = sorted(known | unfinished.keys())
    for wanted_range in wanted:
        stop = min(wanted_range.stop, size)
        first = wanted_range.start
        for rank in [rank for rank in ranks if first <= rank < stop] + [stop]:
            if first < rank:
                name = f"rank={first}" if first == rank - 1 else f"rank={first}-{rank - 1}"
                missing.append(
                    LeftOut(first, name, "missing: the rank has not ended, or was not recorded")
                )
            first = rank + 1
    return sorted(missing, key=lambda item: item.rank)


def recording_prefix(job: Path, rank: int) -> Path:
    """The beginning of the path of a rank's unfinished recording, which is beside the job."""
    return job.with_name(f"{job.name}.rank={rank}")


def _unfinished(folder: Path) -> dict[int, Path]:
    """By rank, the folder of a recording that was not converted."""
    named = re.compile(re.escape(folder.name) + r"\.rank=(0|[1-9][0-9]{0,8})\.recording-.+")
    try:
        beside = sorted(folder.absolute().parent.iterdir())
    except OSError:
        return {}
    return {
        int(match[1]): folder.with_name(path.name)
        for path in beside
        if (match := named.fullmatch(path.name))
    }


def first_recorded(recorded: str) -> int:
    """The lowest rank that is recorded, which does what one rank must do for the job."""
    return parse_ranks(recorded)[0].start if recorded else 0


def parse_ranks(text: str) -> tuple[range, ...]:
    """The ranks of a list such as `0,7,100-107`; NumascapeError if it is not one."""
    if not re.fullmatch(r"[0-9]{1,8}(-[0-9]{1,8})?(,[0-9]{1,8}(-[0-9]{1,8})?)*", text):
        raise NumascapeError(f"{text[:40]!r} is not a list of ranks: write it as 0,7,100-107")
    ranges = []
    for word in text.split(","):
        first, _, last = word.partition("-")
        if last and int(last) < int(first):
            raise NumascapeError(f"ranks {word} count downwards: write {last}-{first}")
        ranges.append(range(int(first), int(last or first) + 1))
    return _joined(ranges)


def _joined(ranges: list[range]) -> tuple[range, ...]:
    """The same ranks, ascending, in ranges that neither overlap nor meet."""
    joined: list[range] = []
    for one in sorted(ranges, key=lambda one: one.start):
        if joined and one.start <= joined[-1].stop:
            joined[-1] = range(joined[-1].start, max(joined[-1].stop, one.stop))
        else:
            joined.append(one)
    return tuple(joined)
