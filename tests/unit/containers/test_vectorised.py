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
#include <numascape/segmented_vector.hpp>
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
extern "C" void naive(vector& a) {
    for (double& x : a) x = x * 0.5 + 1;
}
"""
PACKED = re.compile(r"^v(add|mul|fmadd\d+)pd .*%ymm")


@pytest.fixture(scope="module")
def loops(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[list[str]]]:
    """The instructions of every innermost loop, by function."""
    path = tmp_path_factory.mktemp("vectorised") / "kernels.o"
    result = compiled(SOURCE, "-c", "-O3", "-march=x86-64-v3", "-o", path)
    assert result.returncode == 0, result.stderr[:3000]
    listing = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", path], check=True, capture_output=True, text=True
    ).stdout
    return {
        name: innermost_loops(body)
        for name, body in re.findall(r"^[0-9a-f]+ <(\w+)>:\n((?:.+\n)*)", listing, re.MULTILINE)
    }


def innermost_loops(body: str) -> list[list[str]]:
    """From the target of each jump backwards to the jump, unless another such lies between."""
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


@pytest.mark.parametrize("function", ["triad", "sum", "dot", "scale"])
def test_the_inner_loop_works_on_vectors(loops: dict[str, list[list[str]]], function: str) -> None:
    # Beside the main loop there are the ones for what is left at a segment's end.
    main = max(loops[function], key=lambda loop: sum(map(bool, map(PACKED.match, loop))))
    assert any(map(PACKED.match, main)), loops[function]
    assert not any(re.match(r"call|v(add|mul|fmadd\d+)sd ", text) for text in main)


def test_the_loop_over_the_naive_iterator_does_not(loops: dict[str, list[list[str]]]) -> None:
    assert loops["naive"]
    assert not any(PACKED.match(text) for loop in loops["naive"] for text in loop)
