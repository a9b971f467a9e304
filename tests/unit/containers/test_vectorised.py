# SPDX-License-Identifier: Apache-2.0
"""The inner loop of a hierarchical algorithm is the vectorised loop that an array would have."""

from __future__ import annotations

import platform
import re
import subprocess

import pytest

from unit.containers.compiling import compiled

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="reads the assembly language of x86-64"
)
SOURCE = """
#include <numascape/algorithm.hpp>
#include <numascape/mdspan.hpp>
#include <numascape/segmented_vector.hpp>
#include <numascape/spans.hpp>
struct Matrix {
    using index_type = std::size_t;
    using size_type = std::size_t;
    using rank_type = std::size_t;
    std::size_t sizes[2];
    static constexpr std::size_t rank() { return 2; }
    constexpr std::size_t extent(std::size_t r) const { return sizes[r]; }
};
using vector = numascape::segmented_vector<double>;
extern "C" void triad(vector& a, const vector& b, const vector& c) {
    numascape::transform(b, c.begin(), a.begin(), [](double x, double y) { return x + 0.4 * y; });
}
extern "C" double sum(const vector& a) { return numascape::reduce(a, 0.0, std::plus<>{}); }
extern "C" double dot(const vector& a, const vector& b) {
    return numascape::transform_reduce(a, b.begin(), 0.0);
}
extern "C" void scale(vector& a) {
    numascape::for_each(a, [](double& x) { x = x * 0.5 + 1; });
}
extern "C" void in_place(vector& a) {
    numascape::transform(a, a.begin(), [](double x) { return x * 0.5 + 1; });
}
extern "C" void axpy(vector& y, const vector& x) {
    numascape::transform(x, y.begin(), y.begin(), [](double a, double b) { return 0.4 * a + b; });
}
extern "C" void spans(vector& a, const vector& b) {
    numascape::for_each_span(
        [](std::size_t, std::span<double> x, std::span<const double> y) {
            for (std::size_t i = 0; i < x.size(); ++i) x[i] = x[i] * 0.5 + y[i];
        },
        a, b);
}
extern "C" void rows(vector& a, const numascape::layout_segments::mapping<Matrix>& at) {
    double* const p = &a[0];
    const std::size_t columns = at.extents().extent(1);
    for (std::size_t i = 0; i < at.extents().extent(0); ++i)
        for (std::size_t j = 0; j < columns; ++j) p[at(i, j)] = p[at(i, j)] * 0.5 + 1;
}
extern "C" void naive(vector& a) {
    for (double& x : a) x = x * 0.5 + 1;
}
"""
FUNCTIONS = ("triad", "sum", "dot", "scale", "in_place", "axpy", "spans", "rows")
# Registers of four numbers, or of two: Clang 19 keeps reduce's partial sums in short ones.
PACKED = re.compile(r"^v(add|mul|fmadd\d+)pd .*%[xy]mm")


@pytest.fixture(scope="module", params=["g++", "clang++-19"])
def loops(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[list[str]]]:
    """The instructions of every innermost loop of a compiler's code, by function."""
    path = tmp_path_factory.mktemp("vectorised") / "kernels.o"
    options = ("-c", "-O3", "-march=x86-64-v3", "-o", path)
    result = compiled(SOURCE, *options, compiler=request.param)
    assert result.returncode == 0, result.stderr[:3000]
    listing = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", path], check=True, capture_output=True, text=True
    ).stdout
    functions = re.findall(r"^[0-9a-f]+ <(.+)>:\n((?:.+\n)*)", listing, re.MULTILINE)
    return {kernel: loops_of(kernel, functions) for kernel in (*FUNCTIONS, "naive")}


def loops_of(kernel: str, functions: list[tuple[str, str]]) -> list[list[str]]:
    """This includes functions that the compiler makes of the kernel's lambdas and reduction."""
    operation = {"sum": "identity", "dot": "multiplies"}.get(kernel)
    return [
        loop
        for name, body in functions
        if name == kernel
        or f"Z{len(kernel)}{kernel}E" in name
        or (operation is not None and "reduce_run" in name and operation in name)
        for loop in innermost_loops(body)
    ]


def innermost_loops(body: str) -> list[list[str]]:
    """The code from the target of each backward jump to the jump, if no other loop is inside."""
    lines = [
        (int(address, 16), " ".join(text.split()))
        for address, text in re.findall(r"^ *([0-9a-f]+):\t(.+)$", body, re.MULTILINE)
    ]
    spans = []
    for address, text in lines:
        jump = re.match(r"j\w+ ([0-9a-f]+) ", text)
        if jump and int(jump[1], 16) <= address:
            spans.append((int(jump[1], 16), address))
    innermost = [
        (first, last)
        for first, last in spans
        if not any(first <= a and b <= last and (a, b) != (first, last) for a, b in spans)
    ]
    return [[t for at, t in lines if first <= at <= last] for first, last in innermost]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_inner_loop_works_on_vectors(loops: dict[str, list[list[str]]], function: str) -> None:
    # Besides the main loop, there are loops for the remaining elements at the end of a segment.
    main = max(loops[function], key=lambda loop: sum(map(bool, map(PACKED.match, loop))))
    assert any(map(PACKED.match, main)), loops[function]
    assert not any(re.match(r"call|v(add|mul|fmadd\d+)sd ", text) for text in main)


def test_the_loop_over_the_naive_iterator_does_not(loops: dict[str, list[list[str]]]) -> None:
    assert loops["naive"]
    assert not any(PACKED.match(text) for loop in loops["naive"] for text in loop)
