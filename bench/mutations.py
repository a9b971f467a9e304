# SPDX-License-Identifier: Apache-2.0
"""Measures which small mistakes in the code that judges the tests would notice.

A mutant is a module with one operator, number or condition changed (Cosmic Ray's operators). Each
runs in a process of its own; no file changes. If the change is in a function, the code of the
function is replaced in a copy of a process that has collected the tests; otherwise an import hook
gives the mutant instead of the module. Only tests that start no program run, and of these only
those that execute the changed statement.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.abc
import importlib.util
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.machinery import ModuleSpec
from itertools import accumulate
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import polars as pl  # noqa: F401
import rich.console
import typer

from bench.loaded_tests import Trial, limit_cpu_time, make_trials
from bench.measure import machine
from bench.positions import annotation_spans, function_at, statement_lines
from bench.reached import Line, TimedTest, run_quietly, tests_by_line
from bench.tables import ResultTable, print_table, write_results

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
TESTS = [
    ROOT / "tests" / "unit" / name
    for name in (
        *("analysis", "findings", "prediction", "placement", "plan", "comparison", "report", "api"),
        "trace",
        *(f"cli/test_{verb}.py" for verb in ("advise", "compare", "predict", "run", "show")),
        "figures/test_data.py",
    )
]
PACKAGES = ("analysis", "findings", "placement", "prediction")
# Operators of Cosmic Ray; each operator of Python has one replacement.
OPERATORS = (
    "AddNot",
    "NumberReplacer",
    "ReplaceAndWithOr",
    "ReplaceBinaryOperator_Add_Sub",
    "ReplaceBinaryOperator_BitAnd_BitOr",
    "ReplaceBinaryOperator_BitOr_BitAnd",
    "ReplaceBinaryOperator_Div_Mul",
    "ReplaceBinaryOperator_FloorDiv_Mul",
    "ReplaceBinaryOperator_Mul_Div",
    "ReplaceBinaryOperator_Sub_Add",
    "ReplaceComparisonOperator_Eq_NotEq",
    "ReplaceComparisonOperator_GtE_Gt",
    "ReplaceComparisonOperator_Gt_GtE",
    "ReplaceComparisonOperator_LtE_Lt",
    "ReplaceComparisonOperator_Lt_LtE",
    "ReplaceComparisonOperator_NotEq_Eq",
    "ReplaceFalseWithTrue",
    "ReplaceOrWithAnd",
    "ReplaceTrueWithFalse",
    "ZeroIterationForLoop",
)
LIMIT_S = 25  # of CPU time; a mutant that does not end is noticed
TESTS_S = 8  # CPU time of the tests for one mutant; with more tests, more mutants are noticed
IMPORT_TESTS_S, IMPORT_LIMIT_S = 25, 75  # of a mutant that changes code that runs at import

console = rich.console.Console(stderr=True)


@dataclass(frozen=True)
class Mutant:
    """The `occurrence`th change of an operator in a module's file."""

    file: str
    operator: str
    occurrence: int
    line: int

    @property
    def module(self) -> str:
        return self.file.removeprefix("src/").removesuffix(".py").replace("/", ".")

    def code(self) -> str:
        from cosmic_ray.mutating import mutate_code
        from cosmic_ray.plugins import get_operator

        operator = get_operator(f"core/{self.operator}")()
        changed = mutate_code((ROOT / self.file).read_text(), operator, self.occurrence)
        assert changed is not None, self
        return str(changed)


def mutants_of(path: Path) -> Iterator[Mutant]:
    """All mutants of a file except those that no test can notice.

    These are in annotations, which do not run, and numbers that change by less than a millionth.
    """
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator

    text = path.read_text()
    nodes = list(ast_nodes(get_ast(text)))
    annotated = annotation_spans(ast.parse(text))
    for name in OPERATORS:
        operator = get_operator(f"core/{name}")()
        positions = [(node, place) for node in nodes for place in operator.mutation_positions(node)]
        for occurrence, (node, (start, _)) in enumerate(positions):
            unseen = name == "NumberReplacer" and _is_large(node.value)
            if not unseen and not any(first <= start < last for first, last in annotated):
                yield Mutant(str(path.relative_to(ROOT)), name, occurrence, start[0])


def _is_large(number: str) -> bool:
    """Whether adding or subtracting one, as a mutant does, changes it by less than a millionth."""
    return bool(abs(ast.literal_eval(number)) > 1e6)


class _Replacing(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """An import hook that returns a mutant instead of its module."""

    def __init__(self, mutant: Mutant) -> None:
        self._name = mutant.module
        self._file = str(ROOT / mutant.file)
        self._code = compile(mutant.code(), self._file, "exec")

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        return importlib.util.spec_from_file_location(fullname, self._file, loader=self)

    def exec_module(self, module: ModuleType) -> None:
        exec(self._code, module.__dict__)


def noticed(
    mutants: Sequence[Mutant], tests: dict[Line, list[TimedTest]], jobs: int
) -> Iterator[tuple[Mutant, bool]]:
    """For each mutant, in the order of their ends: whether a test fails, or does not end."""
    in_functions: list[tuple[Mutant, Trial]] = []
    others: list[tuple[Mutant, list[str]]] = []
    for mutant in mutants:
        chosen = _tests_of(mutant, tests)
        file = ROOT / mutant.file
        first_line = function_at(ast.parse(file.read_text()), mutant.line)
        if not chosen:
            yield mutant, False
        elif first_line is None:
            others.append((mutant, chosen))
        else:
            code = compile(mutant.code(), str(file), "exec")
            trial = Trial(mutant.module, str(file), first_line, code, chosen)
            in_functions.append((mutant, trial))
    trials = [trial for _, trial in in_functions]
    places = [str(place) for place in TESTS]
    for number, is_noticed in make_trials(trials, places, jobs, LIMIT_S):
        yield in_functions[number][0], is_noticed
    yield from _noticed_at_import(others, jobs)


def _noticed_at_import(
    trials: Sequence[tuple[Mutant, Sequence[str]]], jobs: int
) -> Iterator[tuple[Mutant, bool]]:
    waiting = list(reversed(trials))
    running: dict[int, Mutant] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            mutant, chosen = waiting.pop()
            running[_start(mutant, chosen)] = mutant
        child, status = os.wait()
        yield running.pop(child), status != 0


def _tests_of(mutant: Mutant, tests: dict[Line, list[TimedTest]]) -> list[str]:
    """The tests that execute the changed statement; those of its package first, quickest first.

    A constant may be used anywhere: for code that runs at import, they are the tests of the package
    and of the module.
    """
    file = mutant.file.removeprefix("src/")
    tree = ast.parse((ROOT / mutant.file).read_text())
    own = f"/unit/{_package(mutant)}/"
    runs_at_import = function_at(tree, mutant.line) is None
    if runs_at_import:
        every = {
            test
            for (where, _), found in tests.items()
            for test in found
            if where == file or own in test.name
        }
    else:
        lines = statement_lines(tree, mutant.line)
        every = {test for line in lines for test in tests.get((file, line), [])}
    limit = IMPORT_TESTS_S if runs_at_import else TESTS_S
    ordered = sorted(every, key=lambda test: (own not in test.name, _time_class(test), test.name))
    ends = accumulate(test.seconds for test in ordered)
    return [test.name for test, end in zip(ordered, ends, strict=True) if end <= limit]


def _time_class(test: TimedTest) -> int:
    """Tests of similar time, ordered by file: the tests of a file then share its fixtures."""
    return max(0, int(1000 * test.seconds)).bit_length() // 3


def _start(mutant: Mutant, tests: Sequence[str]) -> int:
    child = os.fork()
    if child == 0:
        status = 1
        with contextlib.suppress(BaseException):
            limit_cpu_time(IMPORT_LIMIT_S)
            sys.meta_path.insert(0, _Replacing(mutant))
            status = run_quietly(["-x", *tests])
        os._exit(status)
    return child


def _sample(packages: Sequence[str], count: int, seed: int) -> tuple[list[Mutant], Counter[str]]:
    sizes: Counter[str] = Counter()
    every: list[Mutant] = []
    for package in packages:
        files = sorted((SOURCE / "numascape" / package).rglob("*.py"))
        found = [mutant for path in files for mutant in mutants_of(path)]
        sizes[package] = len(found)
        every += found
    return random.Random(seed).sample(every, min(count, len(every))), sizes


def _package(mutant: Mutant) -> str:
    return mutant.file.split("/")[2]


def _tables(rows: list[dict[str, Any]], sizes: Counter[str], seed: int) -> list[ResultTable]:
    by_package: list[list[str | float | None]] = []
    for package in (*sizes, "all"):
        tried = [row for row in rows if package in ("all", row["package"])]
        killed = sum(row["noticed"] for row in tried)
        size = sizes.total() if package == "all" else sizes[package]
        share = f"{100 * killed / len(tried):.0f} %" if tried else None
        by_package.append([package, str(size), str(len(tried)), str(killed), share])
    missed = [
        [f"{row['file'].removeprefix('src/numascape/')}:{row['line']}", row["operator"]]
        for row in sorted(rows, key=lambda row: (row["file"], row["line"]))
        if not row["noticed"]
    ]
    return [
        ResultTable(
            "Mutants that the tests notice",
            ["package", "mutants", "tried", "noticed", "share"],
            by_package,
            f"Drawn at random with seed {seed}; only tests that start no program.",
        ),
        ResultTable("Mutants that no test notices", ["place", "operator"], missed),
    ]


def main(
    packages: Annotated[list[str] | None, typer.Argument(help="By default all.")] = None,
    count: Annotated[int, typer.Option(min=1, help="How many mutants, drawn at random.")] = 200,
    seed: Annotated[int, typer.Option(help="Of the draw.")] = 1,
    jobs: Annotated[int, typer.Option(min=1, help="How many at a time.")] = os.cpu_count() or 1,
    lines: Annotated[
        Path | None,
        typer.Option(help="File for the lines that each test executes; used again if it exists."),
    ] = None,
    target: Annotated[float, typer.Option(help="The share to notice; less is status 1.")] = 0.85,
) -> None:
    """Try mutants, print those that no test notices, and write bench/results/mutations.*."""
    chosen = packages or PACKAGES
    drawn, sizes = _sample(chosen, count, seed)
    places = [f"numascape/{package}" for package in PACKAGES]
    tests = tests_by_line(SOURCE, places, TESTS, jobs, lines)
    rows: list[dict[str, Any]] = []
    tables: list[ResultTable] = []
    for number, (mutant, is_noticed) in enumerate(noticed(drawn, tests, jobs), 1):
        rows.append({**asdict(mutant), "package": _package(mutant), "noticed": is_noticed})
        if not is_noticed:
            console.print(f"{mutant.file}:{mutant.line}: {mutant.operator} {mutant.occurrence}")
        done = sum(row["noticed"] for row in rows)
        console.print(f"{number} of {len(drawn)}: {done} noticed", end="\r")
        tables = _tables(rows, sizes, seed)
        write_results("mutations", machine(), tables)  # for interrupted runs, too
    for table in tables:
        print_table(table)
    raise typer.Exit(int(sum(row["noticed"] for row in rows) < target * len(rows)))


if __name__ == "__main__":
    typer.run(main)
