# SPDX-License-Identifier: Apache-2.0
"""Finds the source lines for a finding: of first touches, and of the loop that does the work."""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

from numascape.analysis.iterations import ParallelLoop
from numascape.analysis.source_files import SourceFiles
from numascape.findings.finding import Place

_DIRECTIVE = re.compile(r"^\s*(?:#\s*pragma\s+omp|!\$omp)\b(.*)", re.IGNORECASE)
_SCHEDULE = re.compile(r"\bschedule\s*\(\s*(?:\w+\s*:\s*)?(\w+)\s*(?:,\s*([^)]*?))?\s*\)", re.I)
_DIVIDES = re.compile(r"\b(for|do)\b", re.IGNORECASE)
_TASKS = re.compile(r"\b(task|taskloop|sections)\b", re.IGNORECASE)
_ONE_THREAD = re.compile(r"\b(single|master|masked)\b", re.IGNORECASE)
_STARTS = re.compile(r"\b(parallel|task|taskloop|sections)\b", re.IGNORECASE)
_PARALLEL = re.compile(r"\bparallel\b", re.IGNORECASE)
_CLOSED = re.compile(r"^\s*!\$omp\s+end\b", re.IGNORECASE)
_CONTINUATION = re.compile(r"^!\$omp\s*&", re.IGNORECASE)  # in Fortran's fixed form
_NEXT_NUMBER = re.compile(
    r"(?:=|\breturn)\s*(?:\w+(?:::|\.|->))*"
    r"(?:(?:__)?atomic_fetch_add(?:_explicit)?|__sync_fetch_and_add|fetch_add)\s*\("
)
"""The result of an atomic addition is used: it is the number of the next piece of work."""
_NEXT_EXCHANGED = re.compile(
    r"compare_exchange(?:_weak|_strong)?(?:_explicit)?\s*\(\s*(?:&\s*[\w.>-]+\s*,\s*&\s*)?"
    r"(?P<number>\w+)\s*,\s*(?P=number)\s*\+\s*1\b"
)
"""A number is replaced by the next one if no other thread did so: the same as an addition."""
_NEXT_LOCKED = re.compile(
    r"\b(?:\w*mutex_lock|lock_guard|scoped_lock|unique_lock)\b[^\n]*\n"
    r"(?:[^\n}]*\n){0,3}?[^\n}]*=\s*[\w.>-]+\+\+\s*;"
)
"""The number of the next piece of work is taken, and counted up, under a lock."""
_NEXT_TASK = re.compile(
    r"(?:\.|->)(?:pop|pop_front|pop_back|try_pop)\s*\(\s*\)|\.lock\(\)(?:\.unwrap\(\))?\.recv\("
)
_LOCKS = re.compile(r"\b(?:mutex|Mutex|lock_guard|unique_lock|scoped_lock|pthread_mutex_lock)\b")
_RING = re.compile(
    r"(?P<at>\b[\w.>-]+)\s*=\s*\(\s*(?P=at)\s*\+\s*1\s*\)\s*[%&]|\[[\w.>-]+\+\+\s*[%&]"
)
"""A place in a ring is counted up, as for the head of a queue in an array."""
_WAITS = re.compile(r"\b(?:pthread_cond_wait|cnd_wait|condition_variable(?:_any)?)\b")
_RECEIVES = re.compile(r"\.(?:recv|recv_timeout|try_recv)\s*\(|\bwait_dequeue\s*\(")
_POOL = re.compile(
    r"\bstd::(?:async|execution::par)\b|\b(?:tbb|rayon|taskflow)::|\basio::(?:post|thread_pool)\b"
)
_C_LIBRARY = re.compile(r"_*(mem(set|cpy|move|pcpy)|int_malloc|sysmalloc|calloc|rep_)|_IO_")
_OF_TYPE = re.compile(r"\s*(?:type|class)\s*\(\s*(\w+)\s*\)", re.IGNORECASE)
_TYPE_BODY = r"^\s*type\b[^(\n]*\b{}\s*(?:!.*?)?\n(.*?)^\s*end\s*type\b"
"""The components of a Fortran type of this name."""
_ALLOCATABLE = re.compile(r"^[^!\n]*\b(?:allocatable|pointer)\b", re.IGNORECASE | re.MULTILINE)
_FUNCTION_ENDS = re.compile(r"\}|\s*end\s*(subroutine|function|program)\b", re.IGNORECASE)
"""In C and C++, the brace at the start of a line."""
_COMMENT = re.compile(r"\s*(?://|\*|/\*|!)")
_ABOVE = 6
"""Number of lines directly above a loop that may belong to its directive."""
_AROUND = 40
"""Number of lines above a place that are searched for the directive of an outer loop."""


@dataclass(frozen=True)
class Schedule:
    """The schedule of an OpenMP loop in the source; `kind` is empty if there is no clause."""

    place: Place
    kind: str
    chunk: str

    @property
    def always_divides_alike(self) -> bool:
        """Whether it always gives each thread the same one block of iterations."""
        return self.kind in ("static", "") and not self.chunk

    @property
    def is_dynamic(self) -> bool:
        """Whether it gives iterations to whichever thread is free (`runtime` may)."""
        return self.kind in ("dynamic", "guided", "runtime")

    @property
    def clause(self) -> str:
        """The clause as in the source."""
        return f"schedule({self.kind}{', ' + self.chunk if self.chunk else ''})"


@dataclass(frozen=True)
class Sources:
    """Places in the source; with the loops around them, if the files may be read."""

    files: SourceFiles | None

    def busiest(self, lines: pl.DataFrame) -> Place | None:
        """The loop, or the line outside loops, that makes most of the accesses of `lines`."""
        table = lines.group_by("function", "file", "line").agg(
            uses=(pl.col("reads") + pl.col("writes")).sum()
        )
        total = float(table["uses"].sum() or 0)
        if total == 0:
            return None
        uses: dict[Place, float] = {}
        for function, file, line, count in table.iter_rows():
            place = self.around(function, file, line)
            uses[place] = uses.get(place, 0.0) + count
        place, most = max(uses.items(), key=lambda item: (item[1], str(item[0])))
        if not str(place):
            return None
        return Place(place.function, place.file, place.line, place.loop, most / total)

    def around(self, function: str, file: str, line: int) -> Place:
        """The innermost loop around the line, or the line itself."""
        loops = self.files.loops(file) if self.files and file and line else None
        found = loops.around(line) if loops else None
        if found is None:
            return Place(function, file, line)
        return Place(function, file, found[0], loop=True)

    def touched(self, where: tuple[str, str, int], allocated: tuple[str, str, int]) -> Place | None:
        """The loop or line around first touches; None if nothing is known.

        If the C library made them, for example in memset, this is the place of the allocation.
        """
        place = self.around(*(allocated if _C_LIBRARY.match(where[0]) else where))
        return place if str(place) else None

    def waits(self, file: str, line: int) -> bool:
        """Whether the line is in a loop that only waits until another thread changes something."""
        loops = self.files.loops(file) if self.files and file and line else None
        return loops is not None and loops.waits(line)

    def parallel_loop(self, file: str, line: int) -> ParallelLoop | None:
        """Which loop around the line could run in parallel; None if no loop is known there."""
        return self.files.parallel_loop(file, line) if self.files and file and line else None

    def text(self, place: Place) -> str:
        """The line of the place; empty if it may not be read."""
        lines = self.files.lines(place.file) if self.files and place.file else None
        return lines[place.line - 1] if lines and 0 < place.line <= len(lines) else ""

    def is_parallel(self, loop: Place) -> bool:
        """Whether an OpenMP directive directly above the loop divides its iterations."""
        text = self.files.lines(loop.file) if self.files and loop.file else None
        above = (text or [])[max(0, loop.line - 1 - _ABOVE) : loop.line - 1][::-1]
        for line, before in zip(above, [*above, ""][1:], strict=True):
            directive = _DIRECTIVE.match(line)
            if directive and _DIVIDES.search(directive.group(1)):
                return True
            continued = before.rstrip().endswith(("\\", "&"))
            if line.strip() and not directive and not continued:
                return False
        return False

    def schedule(self, place: Place | None) -> Schedule | None:
        """The schedule of the OpenMP loop at or around the place; None if none is found."""
        text = self.files.lines(place.file) if self.files and place and place.file else None
        if text is None or place is None:
            return None
        for number in range(min(place.line, len(text)), max(0, place.line - _AROUND), -1):
            if _CLOSED.match(text[number - 1]):
                return None
            directive = _DIRECTIVE.match(text[number - 1])
            if directive and _DIVIDES.search(directive.group(1)):
                loops = self.files.loops(place.file) if self.files else None
                end = loops.end_of_next(number) if loops else None
                if end is not None and end < place.line:
                    return None  # the place is after the divided loop
                return _read(_whole(text, number), place, number)
            if directive and _STARTS.search(directive.group(1)):
                return None  # the loops above it are of other regions
        return None

    def whole_loop(self, region: Place | None) -> Schedule | None:
        """The schedule of a region that is one divided loop, as `parallel for` makes it."""
        directives = self._directives(region)
        if region is None or not directives:
            return None
        text, clause = directives[0]
        is_loop = _PARALLEL.search(clause) and _DIVIDES.search(clause)
        return _read(text, region, region.line) if is_loop else None

    def is_called(self, place: Place | None, region: Place | None) -> bool:
        """Whether the place is in another function than the region, which calls this function."""
        if place is None or region is None or not place.line or not region.line:
            return False
        if place.file != region.file or place.line < region.line:
            return True
        lines = self.files.lines(place.file) if self.files else None
        between = (lines or [])[region.line - 1 : place.line - 1]
        return any(_FUNCTION_ENDS.match(line) for line in between)

    def has_only_tasks(self, region: Place | None) -> bool:
        """Whether the region has tasks or sections, and no loop that threads divide."""
        clauses = [clause for _, clause in self._directives(region)]
        divided = any(_DIVIDES.search(clause) for clause in clauses)
        return not divided and any(_TASKS.search(clause) for clause in clauses)

    def deals_out_tasks(self, region: Place | None, *, in_calls: bool = True) -> bool:
        """Whether OpenMP gives the region's work to whichever thread is free: tasks or sections.

        A region in which one thread calls a function and no loop is divided has its tasks there, if
        functions of the program have tasks (`in_calls`).
        """
        clauses = [clause for _, clause in self._directives(region)]
        if any(_TASKS.search(clause) for clause in clauses):
            return True
        divided = any(_DIVIDES.search(clause) for clause in clauses)
        return in_calls and not divided and any(map(_ONE_THREAD.search, clauses))

    def has_tasks(self, file: str) -> bool:
        """Whether a directive of the file makes tasks or sections."""
        lines = self.files.lines(file) if self.files and file else None
        directives = map(_DIRECTIVE.match, lines or ())
        return any(found and _TASKS.search(found.group(1)) for found in directives)

    def has_dynamic_loop(self, region: Place | None) -> bool:
        """Whether a loop of the region has a schedule that gives iterations to any free thread."""
        return region is not None and any(
            _DIVIDES.search(clause) and _read(text, region, region.line).is_dynamic
            for text, clause in self._directives(region)
        )

    def moving_range(self, region: Place | None) -> tuple[Place, str] | None:
        """The region's divided loop and the variable of an outer loop on which its range depends.

        None if it has the same range each time, or if nothing is known.
        """
        text = self.files.lines(region.file) if self.files and region and region.file else None
        loops = self.files.loops(region.file) if self.files and region and text else None
        if text is None or loops is None or region is None or not region.line:
            return None
        for number in range(region.line, min(len(text), region.line + _AROUND) + 1):
            directive = _DIRECTIVE.match(text[number - 1])
            if directive is None or not _DIVIDES.search(directive.group(1)):
                continue
            moved = loops.moves_with(number + 1)
            place = Place(region.function, region.file, number, loop=True)
            return (place, moved) if moved else None
        return None

    def has_new_range(self, schedule: Schedule | None) -> bool:
        """Whether the schedule's loop gets a new range each time, such as the next work list."""
        file = schedule.place.file if schedule else ""
        loops = self.files.loops(file) if self.files and file else None
        return bool(schedule and loops and loops.is_set_anew(schedule.place.line + 1))

    def takes_next_part(self, file: str) -> bool:
        """Whether threads take the next part of the work in this file when they are free.

        They count up a number that is atomic or has a lock, take tasks from a queue with a lock, or
        are threads of a known library. For OpenMP, see `deals_out_tasks` and `has_dynamic_loop`.
        """
        text = self._code(file)
        taken = _NEXT_NUMBER, _NEXT_EXCHANGED, _NEXT_LOCKED, _POOL
        if any(words.search(text) for words in taken):
            return True
        return bool(_NEXT_TASK.search(text) and _LOCKS.search(text))

    def waits_for_work(self, file: str) -> bool:
        """Whether threads of this file wait until a queue or a channel has work for them.

        How much a thread then does depends on when work comes, and on who is free.
        """
        text = self._code(file)
        return bool(_RECEIVES.search(text) or (_WAITS.search(text) and _RING.search(text)))

    def holds_descriptors(self, file: str, line: int) -> bool:
        """Whether the line declares variables of a Fortran type with allocatable arrays.

        Such a variable has the addresses and bounds of arrays, and the compiler reads them again
        and again.
        """
        declared = _OF_TYPE.match(self.text(Place("", file, line)))
        if declared is None:
            return False
        bodies = re.findall(_TYPE_BODY.format(declared[1]), self._code(file), re.I | re.M | re.S)
        return any(_ALLOCATABLE.search(body) for body in bodies)

    def can_read(self, file: str) -> bool:
        """Whether the file is known, and may be read."""
        return bool(self.files and file and self.files.lines(file))

    def _code(self, file: str) -> str:
        """The file without lines of comments; empty if it cannot be read."""
        lines = self.files.lines(file) if self.files and file else None
        return "\n".join(line for line in lines or () if not _COMMENT.match(line))

    def _directives(self, region: Place | None) -> list[tuple[str, str]]:
        """The region's own directives, with their continuation, and what follows `omp`."""
        text = self.files.lines(region.file) if self.files and region and region.file else None
        found: list[tuple[str, str]] = []
        if text is None or region is None or not region.line:
            return found
        for number in range(region.line, min(len(text), region.line + _AROUND) + 1):
            directive = _DIRECTIVE.match(text[number - 1])
            if directive is None:
                continue
            if number > region.line and _PARALLEL.search(directive.group(1)):
                break
            found.append((_whole(text, number), directive.group(1)))
        return found


def _whole(text: list[str], number: int) -> str:
    """The directive that begins in this line, with its continuation lines."""
    end = number
    while end < len(text) and (
        text[end - 1].rstrip().endswith(("\\", "&")) or _CONTINUATION.match(text[end])
    ):
        end += 1
    return " ".join(text[number - 1 : end])


def _read(text: str, place: Place, line: int) -> Schedule:
    found = _SCHEDULE.search(text)
    kind, chunk = (found.group(1).lower(), found.group(2) or "") if found else ("", "")
    return Schedule(Place(place.function, place.file, line), kind, chunk.strip())
