# SPDX-License-Identifier: Apache-2.0
"""Runs random blocks of instructions natively and recorded, and compares all results.

It does the same as tests/fuzz/test_instructions.py, with more blocks and other seeds.
"""

import json
import tempfile
import time
from pathlib import Path
from shutil import disk_usage
from typing import Annotated

import typer
from rich.console import Console

from bench.measure import machine
from bench.tables import RESULTS, ResultTable, write_results
from fuzz.instructions.blocks import Repertoire
from fuzz.instructions.layout import MAX_BLOCKS
from fuzz.instructions.probing import features, probe
from fuzz.instructions.program import build, run
from fuzz.instructions.session import (
    check,
    make_random,
    record,
    record_command,
    report,
    states_that_differ,
)

console = Console(stderr=True)
ROOM = 4 << 30  # bytes for the files of a program


def room() -> str | None:
    """Return a folder in memory, if the system has one with enough room."""
    memory = Path("/dev/shm")
    return str(memory) if memory.is_dir() and disk_usage(memory).free > ROOM else None


def probed(folder: Path) -> Repertoire:
    """Return the instructions for blocks on this CPU, and print those that the recorder refuses."""
    repertoire, refused = probe(folder, record_command(folder / "probe.numascape"))
    forms = sum(len(family) for family in repertoire.forms.values())
    needed = sorted({feature for form in refused for feature in features(form)})
    console.print(f"{forms} forms; the recorder refuses {len(refused)}, of {', '.join(needed)}")
    return repertoire


def one_block(folder: Path, repertoire: Repertoire, name: str, size: int) -> bool:
    """Run one block, named SEED/NUMBER, and print the differences."""
    seed, number = (int(part) for part in name.split("/"))
    program = make_random(folder, repertoire, seed, size)
    found = check(program, first=number, count=1)
    console.print(report(program, seed, found or [(number, ["nothing differs"])]), markup=False)
    return not found


def write_run(begun: str, recorder: str, seeds: str, blocks: int, wrong: int) -> None:
    """Write the run into bench/results/instructions.md, with those of earlier runs."""
    data = RESULTS / "instructions.json"
    runs = json.loads(data.read_text())["tables"][0]["rows"] if data.exists() else []
    about = machine()
    row = [begun, f"{about['processor']}, Linux {about['kernel']}", recorder, seeds, str(blocks)]
    runs = [run for run in runs if run[0] != begun] + [[*row, str(wrong)]]
    table = ResultTable(
        "Random blocks of instructions, with and without the recorder",
        ["begun", "machine", "recorder", "seeds", "blocks", "differ"],
        runs,
        f"{sum(int(run[4]) for run in runs)} blocks in all. Each seed is one program, whose "
        "blocks are other ones on processors with other instructions.",
    )
    write_results("instructions", about, [table])


def main(
    blocks: Annotated[int, typer.Option(min=1, help="How many blocks.")] = 1_000_000,
    seed: Annotated[int, typer.Option(help="Of the first program.")] = 1000,
    size: Annotated[int, typer.Option(min=1, max=MAX_BLOCKS, help="Blocks of a program.")] = 8000,
    recorder: Annotated[str, typer.Option(help="binary, or faults: registers only.")] = "binary",
    block: Annotated[str, typer.Option(help="SEED/NUMBER: run this block alone.")] = "",
    keep: Annotated[Path | None, typer.Option(help="Keep programs here.")] = None,
    write: Annotated[bool, typer.Option(help="Write bench/results/instructions.md, .json.")] = True,
) -> None:
    """Compare random blocks of instructions."""
    with tempfile.TemporaryDirectory(dir=room()) as temporary:
        folder = keep or Path(temporary)
        repertoire = probed(folder / "probe")
        if block:
            raise typer.Exit(0 if one_block(folder / "block", repertoire, block, size) else 1)
        begin = time.monotonic()
        begun = time.strftime("%Y-%m-%d %H:%M:%S")
        wrong = 0
        for at in range(0, blocks, size):
            number = seed + at // size
            program = make_random(folder / "blocks", repertoire, number, min(size, blocks - at))
            if recorder == "binary":
                found = check(program)
            else:
                build(program)
                native = run(program, "native")
                other = record(program, "--recorder", recorder).results
                found = list(states_that_differ(program, native, other))
            wrong += len(found)
            console.print(report(program, number, found), markup=False, end="")
            done = at + len(program.blocks)
            console.print(f"{done} blocks, {wrong} differ, {time.monotonic() - begin:.0f} s")
            if write:  # also after a run that was ended early
                write_run(begun, recorder, f"{seed}-{number}", done, wrong)
    raise typer.Exit(1 if wrong else 0)


if __name__ == "__main__":
    typer.run(main)
