# SPDX-License-Identifier: Apache-2.0
"""Reads the source files that a trace names, if that is safe.

A trace from an unknown person may name private files of the user, and the report may be given to
others. To prevent such a leak, a file is read only if

- the trace was recorded on this system (all fields of its host agree), or the user allows it;
- its name is that of a source file, also after all links are followed;
- it is a regular text file that was not changed after the recording.
"""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path, PurePosixPath

from numascape.analysis.iterations import ParallelLoop, parallel_loop
from numascape.analysis.loops import LoopsOfFile
from numascape.analysis.text import short_printable
from numascape.naming.sources import read_regular_file, read_source
from numascape.trace import TraceInfo
from numascape.trace.host import this_host
from numascape.trace.info import Host

_SOURCE_NAME = re.compile(
    r".+\.(c|cc|cpp|cxx|c\+\+|h|hh|hpp|hxx|h\+\+|inl|ipp|tpp|tcc|cu|cuh|rs"
    r"|f|for|f77|ftn|f90|f95|f03|f08|f15|f18|fpp)",
    re.IGNORECASE | re.DOTALL,
)
# A trace has the start of its recording in whole seconds. A file may be written and compiled in the
# same second.
_STARTED_WITHIN_S = 1.0
LARGEST_FILE = 4 << 20
LONGEST_LINE = 400
FILES = 200
"""Maximum number of files that are read. The report reads those with the most used lines first."""


@dataclass(frozen=True)
class SourceFiles:
    """Reads the files that a trace names, as far as the module's rule allows.

    `recorded_here`: whether the trace's host is this one; `before`: the recording's start, in
    seconds since 1970.
    """

    recorded_here: bool
    before: float
    _lines: dict[str, list[str] | None] = field(default_factory=dict)
    _loops: dict[str, LoopsOfFile | None] = field(default_factory=dict)

    @property
    def left_out(self) -> tuple[str, ...]:
        """What the report says when no file may be read."""
        if self.recorded_here:
            return ()
        return (
            "Source text is left out, because the trace was recorded on another system; "
            "numascape report --source shows the files of this system.",
        )

    def lines(self, file: str) -> list[str] | None:
        """Return the lines of `file` for display; None if reading is not allowed or fails."""
        if file not in self._lines:
            allowed = self.recorded_here and len(self._lines) < FILES
            self._lines[file] = self._read(file) if allowed else None
        return self._lines[file]

    def loops(self, file: str) -> LoopsOfFile | None:
        """The loops of `file`; None if it is not readable or not in a supported language."""
        if file not in self._loops:
            source = read_source(file) if self.lines(file) is not None else None
            self._loops[file] = LoopsOfFile(source) if source else None
        return self._loops[file]

    def parallel_loop(self, file: str, line: int) -> ParallelLoop | None:
        """Which loop around the line could run in parallel; None if no loop is known there."""
        source = read_source(file) if self.lines(file) is not None else None
        return parallel_loop(source, line) if source else None

    def _read(self, file: str) -> list[str] | None:
        if not is_source_name(file) or not file.startswith("/"):
            return None
        try:
            real = Path(file).resolve(strict=True)
            status = real.stat()
        except (OSError, ValueError, RuntimeError):
            return None
        if not is_source_name(str(real)) or status.st_mtime > self.before:
            return None
        if status.st_size > LARGEST_FILE:
            return None
        content = read_regular_file(str(real))
        if content is None:
            return None
        text = content.decode("utf-8", "replace").removesuffix("\n")
        return [shown_line(line) for line in text.split("\n")]


def shown_line(line: str) -> str:
    """A line of source without tabs and without invisible characters."""
    return short_printable(line.removesuffix("\r").expandtabs(8), LONGEST_LINE)


def is_source_name(file: str) -> bool:
    """Whether a file's name is that of a source file; no other file is ever shown."""
    return _SOURCE_NAME.fullmatch(PurePosixPath(file).name) is not None


def readable_sources(info: TraceInfo, wanted: bool | None) -> SourceFiles | None:
    """The files that a report of the trace of `info` may show on this system.

    `wanted`: True allows them wherever the trace was recorded, False allows none, and None allows
    them if it was recorded here.
    """
    if wanted is False:
        return None
    here = this_host(Path("/"), platform.uname())
    return source_files(info, here, anywhere=wanted is True)


def source_files(info: TraceInfo, host: Host, *, anywhere: bool) -> SourceFiles:
    """The files that the trace of `info` names; `anywhere`: even if `host` did not record it."""
    try:
        before = datetime.fromisoformat(info.started).timestamp() + _STARTED_WITHIN_S
    except (ValueError, OverflowError, OSError):
        before = float("-inf")
    return SourceFiles(anywhere or info.host == host, before)
