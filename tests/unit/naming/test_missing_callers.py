# SPDX-License-Identifier: Apache-2.0
"""Functions whose caller is not on the stack: of threads, of tasks, and behind tail calls."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from numascape.naming import name_allocation


@dataclass(frozen=True)
class AnyFrame:
    function: str
    file: str = ""
    line: int = 0
    column: int = 0
    module: str = "/opt/program"


THREAD = AnyFrame("std::__invoke_impl", "/usr/include/c++/12/bits/invoke.h", 61)
FILLS = "void fill(double *&part, int n) {\n  part = new double[n];\n}\n"
RETURNS = "double *fill(int n) {\n  double *made = new double[n];\n  return made;\n}\n"


def name_of(folder: Path, text: str, *callers: AnyFrame) -> str:
    """The name of the memory that `new` in line 2 allocates."""
    file = folder / "program.cpp"
    file.write_text(text)
    column = text.splitlines()[1].index("new") + 1
    return name_allocation([AnyFrame("fill", str(file), 2, column), *callers]).name


@pytest.mark.parametrize(
    ("launch", "name"),
    [
        ("std::thread(fill, std::ref(parts[k]), 8);", "parts[k]"),
        ("threads.emplace_back(&fill, std::ref(parts[k]), 8);", "parts[k]"),
        ("std::async(std::launch::async, fill, std::ref(grid.cells), 8);", "grid.cells"),
        ("std::thread(fill, std::ref(a), 8); std::thread(fill, std::ref(b), 8);", "part"),
        ("fill(parts[2 * k], 8); fill(parts[2 * k + 1], 8);", "parts"),
        ("std::thread(fill);", "part"),
        ("run(other, std::ref(a), 8);", "part"),
    ],
)
def test_what_a_thread_s_function_fills(tmp_path, launch, name):
    assert name_of(tmp_path, f"{FILLS}void work(int k) {{\n{launch}\n}}\n", THREAD) == name


@pytest.mark.parametrize(
    ("launch", "name"),
    [
        ("parts.push_back(std::async(std::launch::async, fill, 8).get());", "parts"),
        ("x = std::async(fill, 8).get();", "x"),
        ("auto later = std::async(fill, 8);", "made"),
    ],
)
def test_what_a_task_returns(tmp_path, launch, name):
    assert name_of(tmp_path, f"{RETURNS}void work(int k) {{\n{launch}\n}}\n", THREAD) == name


def test_a_caller_on_the_stack_decides(tmp_path):
    text = f"{FILLS}void work(int k) {{\nfill(a, 8);\nfill(b, 8);\n}}\n"
    caller = AnyFrame("work", str(tmp_path / "program.cpp"), 6, 1)
    assert name_of(tmp_path, text, caller, THREAD) == "b"


MEMBER = """void fill(Part &part, int n) {
  part.cells = new double[n];
}
void fill_last(Whole &whole) { fill(whole.part, 8); }
void work() {
  Whole whole;
  fill_last(whole);
}
"""


@pytest.mark.parametrize(("line", "name"), [(4, "whole.part.cells"), (7, "part.cells")])
def test_a_function_that_the_call_stack_lacks_gives_no_name(tmp_path, line, name):
    caller = AnyFrame("work" if line > 4 else "fill_last", str(tmp_path / "program.cpp"), line)
    assert name_of(tmp_path, MEMBER, caller) == name


TWO = "std::vector<int> slots{100}; double *p = new double[4];"


@pytest.mark.parametrize(
    ("members", "declared", "name"),
    [
        ("std::vector<int> slots{100};", "Shop shop;", "shop.slots"),
        ("int n = 3; std::vector<int> slots = make(100);", "app::Shop shop;", "shop.slots"),
        ("std::vector<int> slots;", "Shop shop;", "Shop::Shop+1"),
        (TWO, "Shop shop;", "Shop::Shop+1"),
    ],
)
def test_members_in_a_constructor_that_the_compiler_wrote(tmp_path, members, declared, name):
    file = tmp_path / "program.cpp"
    file.write_text(f"struct Shop {{\n{members}\n}};\nint main() {{\n{declared}\n}}\n")
    frames = [
        AnyFrame("std::vector<int>::vector", "/usr/include/c++/12/bits/stl_vector.h", 552),
        AnyFrame("Shop::Shop", str(file), 1, 8),
        AnyFrame("main", str(file), 5, 1),
    ]
    assert name_allocation(frames).name == name


def test_the_place_of_a_member_is_where_it_is_allocated(tmp_path):
    file = tmp_path / "program.cpp"
    file.write_text(MEMBER)
    frames = [AnyFrame("fill", str(file), 2), AnyFrame("fill_last", str(file), 4)]
    found = name_allocation(frames)
    assert (found.name, found.function, found.line) == ("whole.part.cells", "fill", 2)


def test_a_thread_that_only_runs_a_library_s_template_has_the_name_of_that():
    merge = AnyFrame(
        "__gnu_parallel::parallel_sort_mwms_pu<false, true, long*>",
        "/usr/include/c++/12/parallel/multiway_mergesort.h",
        326,
    )
    found = name_allocation(
        [
            AnyFrame("operator new", module="/usr/lib/libstdc++.so.6"),
            merge,
            AnyFrame("0x1cd8d", module="/usr/lib/libgomp.so.1"),
            AnyFrame("start_thread", "nptl/pthread_create.c", 442, module="/usr/lib/libc.so.6"),
        ]
    )
    assert found.name == "__gnu_parallel::parallel_sort_mwms_pu<false, true, long*>+326"
    assert (found.file, found.line) == (merge.file, 326)
