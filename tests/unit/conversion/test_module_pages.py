# SPDX-License-Identifier: Apache-2.0
"""Variables of a module: large ones by themselves, small ones together."""

from __future__ import annotations

from dataclasses import dataclass

from numascape.conversion.module_pages import variables_on_pages
from numascape.conversion.shards import MappedModule


@dataclass
class Variable:
    """What the native module says of a variable."""

    name: str
    address: int
    size: int
    file: str = ""
    line: int = 0
    module: str = "/opt/code"
    function: str = ""


def test_small_variables_together_have_the_sum_of_their_sizes() -> None:
    module = MappedModule("/opt/code", 0x10000, 0x20000, 0x10000, 3)
    variables = [
        Variable("a", 0x11000, 100),
        Variable("b", 0x11800, 28),
        Variable("large", 0x12000, 8192),
        Variable("c", 0x14000, 4000),
    ]
    found, pages = variables_on_pages([module], variables)  # type: ignore[arg-type]
    assert {item.name: item.size for item in found} == {
        "variables under a page of code": 100 + 28 + 4000,
        "large": 8192,
    }
    assert pages["bytes"].sum() == 100 + 28 + 8192 + 4000
