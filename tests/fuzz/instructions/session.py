# SPDX-License-Identifier: Apache-2.0
"""Makes programs of random blocks, records them, and reports blocks that differ.

A block is named SEED/NUMBER: program SEED always has the same blocks on CPUs with the same
features.
"""

import shutil
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from iced_x86 import Decoder

import numascape
from fuzz.instructions.accesses import touches_memory
from fuzz.instructions.blocks import Block, Repertoire, make_block
from fuzz.instructions.differences import differences
from fuzz.instructions.layout import ARENA_PAGES, RESULT
from fuzz.instructions.logged import find_logged
from fuzz.instructions.program import Program, Results, build, make_program, run
from fuzz.instructions.truth import Counts, counts_of, find_truth
from integration.totals import check_totals

BIN: Final = Path(sysconfig.get_path("scripts"))
_ARITHMETIC_FLAGS: Final = 0x8D5
# The most accesses of one instruction: of a gather whose lanes cross pages, and of any other one.
_MOST_LANES: Final = 32
_MOST_ACCESSES: Final = 4


@dataclass(frozen=True)
class Recorded:
    """The recording of a program."""

    results: Results
    counts: Counts
    touched: set[int]  # pages with a first touch


def make_random(folder: Path, repertoire: Repertoire, seed: int, count: int) -> Program:
    """Make the program of this seed, without building it."""
    makers = (partial(make_block, repertoire, seed, number) for number in range(count))
    return make_program(folder, seed, makers)


def record_command(trace: Path, *options: str) -> list[str | Path]:
    """Return the words before a command that is recorded."""
    shutil.rmtree(trace, ignore_errors=True)
    return [BIN / "numascape", "record", "-q", *options, "-o", trace, "--"]


def counted(trace_folder: Path) -> tuple[Counts, set[int]]:
    """Return the counts of the arena's pages, and the pages with a first touch."""
    trace = numascape.open(trace_folder)
    check_totals(trace)
    arena = trace.structures.filter(pl.col("name") == "arena").select("structure")
    rows = trace.accesses.join(arena, on="structure", how="semi").group_by("page")
    sums = rows.agg(pl.col("reads", "writes").sum())
    counts = {page: (r, w) for page, r, w in sums.iter_rows() if r | w}
    first = trace.first_touch.join(arena, on="structure", how="semi")["page"].to_list()
    return counts, set(first)


def record(program: Program, *options: str, first: int = 0, count: int | None = None) -> Recorded:
    """Record the program's blocks with these options of `numascape record`."""
    trace = program.folder / "run.numascape"
    results = run(program, "recorded", record_command(trace, *options), first, count)
    return Recorded(results, *counted(trace))


def listing(block: Block, start: int) -> str:
    """Return the block's instructions as text."""
    return "\n".join(f"    {i.ip:#x} {i}" for i in Decoder(64, block.code, ip=start))


def _undefined(block: Block, faults: int) -> int:
    # Handlers do not see flags that the block was about to overwrite (docs/record.md).
    return block.undefined | (_ARITHMETIC_FLAGS if faults else 0)


def states_that_differ(program: Program, native: Results, other: Results,
                       first: int = 0) -> Iterator[tuple[int, list[str]]]:  # fmt: skip
    """Yield the numbers of blocks with another result, and the differences."""
    assert len(native) == len(other)
    one, two = (results.view("<u8").reshape(len(results), -1) for results in (native, other))
    for at in np.flatnonzero((one != two).any(axis=1)).tolist():
        block = program.blocks[first + at]
        found = differences(native[at], other[at], _undefined(block, int(native[at]["faults"])))
        if found:
            yield first + at, found


def _wrong_counts(recorded: Recorded, number: int, truth: Counts) -> list[str]:
    """Describe how counts or first touches of a block differ from the true ones."""
    wanted, found = counts_of(truth, number), counts_of(recorded.counts, number)
    first = number * ARENA_PAGES
    pages = {page for page in range(ARENA_PAGES) if first + page in recorded.touched}
    wrong = []
    if wanted != found:
        wrong.append(f"pages: {wanted}, recorded {found}")
    if pages != set(wanted):
        wrong.append(f"first touches: {sorted(wanted)}, recorded {sorted(pages)}")
    return wrong


def _most_too_many(block: Block) -> int:
    """Return the largest number of accesses behind a fault that can be counted.

    All accesses of a group are counted before the first, and a group is at most a block.
    """
    instructions = [each for each in Decoder(64, block.code) if touches_memory(each)]
    return sum(_MOST_LANES if each.is_vsib else _MOST_ACCESSES for each in instructions)


def _wrong_counts_with_faults(
    program: Program, number: int, faults: int, recorded: Recorded
) -> list[str]:
    """Describe which counts of a block with faults are too low or too high."""
    truth = find_truth(program, number, 1)
    if number in truth.unclear:
        return []
    wanted, found = counts_of(truth.counts, number), counts_of(recorded.counts, number)
    none = (0, 0)
    missing = {
        page for page, true in wanted.items()
        if any(a < b for a, b in zip(found.get(page, none), true, strict=True))
    }  # fmt: skip
    wrong = [f"pages with a fault: {wanted}, recorded {found}"] if missing else []
    more = sum(map(sum, found.values())) - sum(map(sum, wanted.values()))
    most = faults * _most_too_many(program.blocks[number])
    if more > most:
        wrong.append(f"{more} accesses too many are counted, at most {most} lie behind faults")
    return wrong


def counts_that_differ(program: Program, native: Results, recorded: Recorded, first: int = 0,
                       count: int | None = None) -> Iterator[tuple[int, list[str]]]:  # fmt: skip
    """Yield the numbers of blocks whose counts or first touches differ from the true ones."""
    logged = find_logged(program, first, count)
    for at, faults in enumerate(native["faults"].tolist()):
        number = first + at
        if faults:
            wrong = _wrong_counts_with_faults(program, number, faults, recorded)
        else:
            wrong = _wrong_counts(recorded, number, logged)
            if wrong:
                wrong = _wrong_counts(recorded, number, find_truth(program, number, 1).counts)
        if wrong:
            yield number, wrong


def differences_while(
    program: Program, first_results: Results, different: Path
) -> Iterator[tuple[int, list[str]]]:
    """Yield the blocks that had another result when the runner repeated them."""
    rows = np.fromfile(different, np.dtype([("number", "<u8"), ("result", RESULT)]))
    for row in rows:
        number = int(row["number"])
        native, other = first_results[number], row["result"]
        undefined = _undefined(program.blocks[number], int(native["faults"]))
        found = differences(native, other, undefined)
        if found:
            yield number, found


def report(program: Program, seed: int, found: Sequence[tuple[int, list[str]]]) -> str:
    """Say which blocks differ, so that each can be run again alone."""
    parts = []
    for number, lines in found:
        parts.append(
            f"block {seed}/{number} (again: bench/instructions --block {seed}/{number} "
            f"--size {len(program.blocks)})\n" + "\n".join(lines)
            + "\n" + listing(program.blocks[number], program.starts[number])
        )  # fmt: skip
    return "\n".join(parts)


def check(
    program: Program, *options: str, first: int = 0, count: int | None = None
) -> list[tuple[int, list[str]]]:
    """Build the program, run it natively and recorded, and return all that differs."""
    build(program)
    native = run(program, "native", first=first, count=count)
    recorded = record(program, *options, first=first, count=count)
    return [
        *states_that_differ(program, native, recorded.results, first),
        *counts_that_differ(program, native, recorded, first, count),
    ]
