# SPDX-License-Identifier: Apache-2.0
"""Encodes a report as one compact block of text for an HTML page.

Layout of the block before compression (little endian):

    offset 0   u32            length of the JSON text in bytes
    offset 4   JSON, UTF-8    the report; a column is {"at", "length", "bytes", "delta"}
    then       columns        at = offset from the end of the JSON text

A column of n unsigned integers of b bytes is stored as b planes of n bytes, the lowest bytes first.
Neighbouring counts differ in their low bytes only, so the high planes compress to almost nothing.
With ``delta`` the differences to the previous value (zigzag: 0, -1, 1, -2, ... become 0, 1, 2, 3,
...) are stored instead. The whole is compressed with zlib and written in base64, which has no
character that could end a script element.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import zlib
from typing import Any

import numpy as np

from numascape.analysis.page_columns import Column
from numascape.report.data import OnMachine, Report
from numascape.report.job import JobPage

FORMAT = "numascape-report"
VERSION = 2
JOB_FORMAT = "numascape-job"
JOB_VERSION = 1

TABLES = ("columns", "cells", "first_touches", "spans", "sharing", "traffic", "lines")
"""The parts of a report with columns."""


def encode_report(report: Report) -> str:
    """Return the block for ``report`` as base64 text."""
    return compressed(_pack(report))


def encode_text(text: dict[str, Any]) -> str:
    """The block of data without columns as base64 text."""
    return compressed(Planes().block(text))


def encode_job_page(page: JobPage) -> str:
    """The block of a job's page as base64 text; ranks and cells have columns."""
    planes = Planes()
    text: dict[str, Any] = {"format": JOB_FORMAT, "version": JOB_VERSION}
    for field in dataclasses.fields(page):
        value = getattr(page, field.name)
        text[field.name] = planes.table(value) if dataclasses.is_dataclass(value) else value
    return compressed(planes.block(text))


def compressed(block: bytes) -> str:
    """A block as base64 text."""
    return base64.b64encode(zlib.compress(block, 6)).decode("ascii")


def _pack(report: Report) -> bytes:
    planes = Planes()
    text: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "run": report.run,
        "threads": report.threads,
        "structures": [dataclasses.asdict(entry) for entry in report.structures],
        "findings": [dataclasses.asdict(card) for card in report.findings],
        "phases": [dataclasses.asdict(phase) for phase in report.phases],
        "places": dataclasses.asdict(report.places),
        "machine": report.machine,
        "loops": [dataclasses.asdict(loop) for loop in report.loops],
        "folded": report.folded,
        "elsewhere": [_elsewhere(planes, one) for one in report.elsewhere],
    }
    for name in TABLES:
        text[name] = planes.table(getattr(report, name))
    if report.memory_lines is not None:
        text["memory_lines"] = planes.table(report.memory_lines)
    if report.access_paths is not None:
        text["access_paths"] = planes.table(report.access_paths)
    if report.touch_paths is not None:
        text["touch_paths"] = planes.table(report.touch_paths)
    if report.sources is not None:
        text["sources"] = [dataclasses.asdict(window) for window in report.sources]
    return planes.block(text)


def _elsewhere(planes: Planes, one: OnMachine) -> dict[str, Any]:
    lines = one.line_traffic
    return {
        **{name: getattr(one, name) for name in ("machine", "verdict", "laid_out", "threads")},
        "findings": [dataclasses.asdict(card) for card in one.findings],
        "readings": [dataclasses.asdict(reading) for reading in one.readings],
        "traffic": planes.table(one.traffic),
        "line_traffic": None if lines is None else planes.table(lines),
    }


class Planes:
    """Collects the bytes of columns, and describes their positions.

    With `small`, each column is stored in the form that compresses better. Otherwise it is stored
    unchanged, which is faster.
    """

    def __init__(self, *, small: bool = True) -> None:
        self.parts: list[bytes] = []
        self._end = 0
        self._small = small

    def block(self, text: dict[str, Any]) -> bytes:
        """The whole block: `text`, which contains the descriptions of tables, and the columns."""
        encoded = json.dumps(
            text, ensure_ascii=False, separators=(",", ":"), allow_nan=False
        ).encode("utf-8", "replace")
        return len(encoded).to_bytes(4, "little") + encoded + b"".join(self.parts)

    def table(self, table: Any) -> dict[str, Any]:
        """Add the columns of a dataclass; return their descriptions and its other fields."""
        values = {f.name: getattr(table, f.name) for f in dataclasses.fields(table)}
        return {
            name: self._column(value) if isinstance(value, np.ndarray) else value
            for name, value in values.items()
        }

    def _column(self, values: Column) -> dict[str, Any]:
        stored, delta = byte_planes(values), False
        if self._small:
            differences = byte_planes(_zigzag_differences(values))
            delta = _compressed_length(differences) < _compressed_length(stored)
            stored = differences if delta else stored
        at = self._end
        self.parts.append(stored)
        self._end += len(stored)
        width = len(stored) // len(values) if len(values) else 1
        return {"at": at, "length": len(values), "bytes": width, "delta": delta}


def _zigzag_differences(values: Column) -> Column:
    signed = values.astype(np.int64)
    signed[1:] -= signed[:-1].copy()
    zigzag: Column = (np.left_shift(signed, 1) ^ np.right_shift(signed, 63)).astype(np.uint64)
    return zigzag


def byte_planes(values: Column) -> bytes:
    """The planes of ``values``, as few as its largest value needs (at least one)."""
    wide = np.ascontiguousarray(values, dtype="<u8")
    largest = int(wide.max()) if len(wide) else 0
    width = max(1, (largest.bit_length() + 7) // 8)
    return wide.view(np.uint8).reshape(len(wide), 8)[:, :width].T.tobytes()


def _compressed_length(data: bytes) -> int:
    sample = data if len(data) <= 1 << 18 else data[:: len(data) // (1 << 18)]
    return len(zlib.compress(sample, 1))
