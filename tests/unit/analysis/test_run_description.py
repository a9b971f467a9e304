# SPDX-License-Identifier: Apache-2.0
"""The description of a run, and the share of its memory that has a name."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import Tables
from numascape.analysis.name_shares import Named, NameShares, name_shares, named_in
from numascape.analysis.run_description import describe_run
from numascape.trace import Trace, TraceInfo, write_trace
from numascape.trace.info import CountedWork, Recorder, Times
from numascape.trace.phase import TraceOfPhase
from synthetic.in_memory import trace_of
from synthetic.pattern import Pattern


def test_the_run_is_described_in_lines(trace_folder: Path) -> None:
    lines = describe_run(Trace.read(trace_folder))
    assert lines[0] == "sum.numascape: /home/ada/sum '1 000' -v"
    assert lines[2].endswith(
        "2 threads made 942 reads and 1.06 k writes on 3 pages; 100 % of them in structures named "
        "in the source"
    )
    assert lines[3] == "not seen: the kernel's own accesses"


def test_a_phase_is_described_by_its_own_counts() -> None:
    pattern = Pattern("two phases", 2)
    fill, solve = pattern.phase("fill"), pattern.phase("solve")
    s = pattern.structure("A", 8)
    pattern.access(s, np.arange(8), 0, 1000, 0, phase=fill)
    pattern.access(s, np.arange(3), 1, 20, 4, phase=solve)
    pattern.touch(s, np.arange(8), 0)
    line = describe_run(TraceOfPhase.of(trace_of(pattern), solve))[2]
    assert line.startswith("in this phase: 1 thread made 60 reads and 12 writes on 3 pages; 100 %")


def described(tables: Tables, info: TraceInfo, folder: Path, **known: Any) -> list[str]:
    path = folder / "run.numascape"
    write_trace(path, tables, dataclasses.replace(info, **known))
    return describe_run(Trace.read(path))


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({}, "ran 1.50 s (0.30 s of CPU) under the binary recorder, exit status 0"),
        ({"exit_status": None}, "under the binary recorder, its end was not seen"),
        ({"exit_status": -9}, "recorder, exit status -9"),
        ({"times": Times(1.5, None)}, "ran 1.50 s under the binary recorder"),
        ({"times": Times(0.0, 0.0)}, "(2 CPUs, 1 node), ran under the binary recorder"),
        (
            {"times": Times(1.5, 2.25, 0.5)},
            "ran 1.50 s (2.25 s of CPU, 4.5 times the 0.50 s without) under",
        ),
        (
            {"times": Times(1.5, 0.12, 0.004)},
            "ran 1.50 s (0.12 s of CPU, 30.0 times the 0.004 s without) under",
        ),
    ],
)
def test_the_time_and_the_end_are_said(
    tables: Tables, info: TraceInfo, tmp_path: Path, known: dict[str, Any], said: str
) -> None:
    assert said in described(tables, info, tmp_path, **known)[1]


@pytest.mark.parametrize(("length", "cut"), [(189, False), (190, True)])
def test_a_long_command_is_cut(
    tables: Tables, info: TraceInfo, tmp_path: Path, length: int, cut: bool
) -> None:
    command = described(tables, info, tmp_path, program="p" * 10, arguments=("a" * length,))[0]
    assert command == "run.numascape: " + (
        "p" * 10 + " " + "a" * 186 + "..." if cut else "p" * 10 + " " + "a" * length
    )


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ("samples", "2 000 samples of accesses by 2 threads, 100 % of them in "),
        ("first touches", "2 threads touched 3 pages first, "),
    ],
)
def test_what_was_counted_is_said(
    tables: Tables, info: TraceInfo, tmp_path: Path, counts: Any, said: str
) -> None:
    recorder = dataclasses.replace(info.recorder, counts=counts)
    line = described(tables, info, tmp_path, recorder=recorder)[2].replace("\u202f", " ")
    assert line.replace("\u00a0", " ").startswith(said)
    end = "; later accesses are not recorded"
    if counts == "samples":
        end = "% of the run's; it is known that 3 pages were used"
    assert line.endswith(end)


@pytest.mark.parametrize(
    ("row", "named"),
    [
        ({"name": "grid->vx"}, Named.SOURCE),
        ({"name": "make_grid+40"}, Named.SOURCE),
        ({"name": "matrix.bin", "kind": "mapping", "module": "/data/matrix.bin"}, Named.SOURCE),
        ({"name": "coefficients", "kind": "global"}, Named.SOURCE),
        ({"name": "make_grid+0x1b"}, Named.NOTHING),
        ({"name": "0x7ffff7f157ff"}, Named.NOTHING),
        ({"name": "operator()\n+0x1b"}, Named.NOTHING),
        ({"name": "unknown"}, Named.NOTHING),
        ({"name": "heap block of unknown origin", "named": False}, Named.NOTHING),
        ({"name": "anonymous mapping", "kind": "mapping", "named": False}, Named.NOTHING),
        ({"name": "memory outside all mappings seen", "kind": "unowned"}, Named.NOTHING),
        ({"name": "Stack#3", "kind": "stack", "module": ""}, Named.RUNTIME),
        ({"name": "variables under a page of app", "kind": "global"}, Named.NOTHING),
        ({"name": "app (code and unnamed data)", "kind": "mapping"}, Named.RUNTIME),
        ({"name": "allocator's own memory and free blocks", "named": False}, Named.RUNTIME),
        ({"name": "OpenMP runtime", "module": "libgomp.so.1"}, Named.RUNTIME),
        ({"name": "Python dictionaries", "module": "libpython3.11.so.1.0"}, Named.RUNTIME),
        ({"name": "numpy.zeros", "module": "_multiarray_umath.so"}, Named.RUNTIME),
    ],
)
def test_what_a_name_refers_to(row: dict[str, Any], named: Named) -> None:
    whole = {"kind": "heap", "module": "app", "named": True, **row}
    assert named_in(whole) is named


def shares(structures: Sequence[tuple[str, str, str, int]]) -> NameShares:
    """A trace of the program `app`, with structures (name, kind, module, accesses)."""
    program = Pattern("app", 1)
    for name, kind, module, accesses in structures:
        number = program.structure(name, 1, kind=kind, module=module)
        program.access(number, np.arange(1), 0, accesses, 0)
        program.touch(number, np.arange(1), 0)
    return name_shares(trace_of(program))


def test_shares_add_up() -> None:
    found = shares(
        [
            ("field", "heap", "app", 600),
            ("Stack#0", "stack", "", 250),
            ("decode+0x40", "heap", "/usr/lib/libx264.so.164", 100),
            ("make+0x8", "heap", "app", 45),
            ("read+0x8", "heap", "other", 5),
        ],
    )
    assert (found.source, found.runtime, found.nothing) == (0.6, 0.25, 0.15)  # of 1000 accesses
    assert found.text() == (
        "60.0 % of them in structures named in the source, 25.0 % in stacks, runtimes and code, "
        "15.0 % in memory without a name"
    )
    assert [advice.partition(":")[2] for advice in found.advice] == [
        " install the debug symbols of libx264.so.164, or compile it with -g.",
        " compile app with -g.",
    ]


@pytest.mark.parametrize(
    ("cpu_s", "said"),
    [
        (2.2, "cost: about 1.10 times the CPU time without recording (asked: 1.15)"),
        (
            2.6,
            "cost: about 1.30 times the CPU time without recording (asked: 1.15); the start and "
            "other work of the recorder took more than this, so the share of the work that was "
            "counted became small: a longer run costs less",
        ),
    ],
)
def test_a_held_cost_is_told(
    cpu_s: float, said: str, tables: Tables, info: TraceInfo, tmp_path: Path
) -> None:
    options = {"sample": "auto", "cost": 1.15}
    recorder = Recorder("binary", "0.1.0", options, counted_work=CountedWork(0.012, 90.0))
    times = Times(2.5, cpu_s, None, 2.0)
    lines = described(tables, info, tmp_path, recorder=recorder, times=times)
    assert "(estimated from 1.2 % of the work;" in lines[2]
    assert lines[3] == said
