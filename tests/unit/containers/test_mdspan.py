# SPDX-License-Identifier: Apache-2.0
"""The policies of <numascape/mdspan.hpp> with the std::mdspan of LLVM's library."""

from __future__ import annotations

import subprocess
from pathlib import Path

from unit.containers.compiling import INCLUDE

SOURCE = """
#include <numascape/mdspan.hpp>
#include <numascape/segmented_vector.hpp>
#include <mdspan>
#include <utility>
using namespace numascape;
int main() {
    segmented_vector<int> v{layout{block{3, 40}}, 7 * 5 * 8, from_index{[](std::size_t i) {
                                return static_cast<int>(i);
                            }}};
    const auto cube = mdspan_of(v, 7, 5, 8);
    static_assert(!cube.is_always_strided() && cube.is_always_unique());
    const segmented_accessor<int> accessor{v};
    using three = std::dextents<std::size_t, 3>;
    const std::mdspan any{accessor.handle(), std::layout_right::mapping<three>{three{7, 5, 8}},
                          accessor};
    int expected = 0;
    for (std::size_t i = 0; i < 7; ++i)
        for (std::size_t j = 0; j < 5; ++j)
            for (std::size_t k = 0; k < 8; ++k, ++expected)
                if (cube[i, j, k] != expected || any[i, j, k] != expected) return 1;
    cube[6, 4, 7] = -1;
    any[0, 0, 0] = -2;
    if (v.back() != -1 || v.front() != -2) return 2;
    if (mdspan_of(std::as_const(v), 7, 40)[6, 39] != -1) return 3;
    return cube.mapping() == cube.mapping() && cube.size() == v.size() ? 0 : 4;
}
"""


def test_a_standard_mdspan_uses_both_policies(tmp_path: Path) -> None:
    program = tmp_path / "program"
    command = ["clang++-19", "-std=c++23", "-stdlib=libc++", "-Wall", "-Wextra", "-Werror"]
    command += [f"-I{INCLUDE}", "-pthread", "-x", "c++", "-", "-o", str(program)]
    built = subprocess.run(command, input=SOURCE, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[:3000]
    assert subprocess.run([program], check=False, timeout=300).returncode == 0
