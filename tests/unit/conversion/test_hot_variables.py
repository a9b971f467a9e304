# SPDX-License-Identifier: Apache-2.0
"""Which variables of modules are structures, and their parts of the use of their pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from numascape.conversion.hot_variables import hot_variables
from numascape.conversion.shards import MODULE, STACK

MODULE_OWNER, STACK_OWNER = 0, 1
START = 0x10000

Seen = tuple[int, int, int]
"""First and last byte in the page, and times."""


@dataclass
class Variable:
    """A variable as the native module returns it."""

    address: int
    size: int = 8
    module: str = "/opt/code"


def group(seen: Sequence[Seen], on_stack: int = 0) -> Any:
    """A process with one module, with what samples saw on its first page."""
    lines = [sum(1 << line for line in range(a // 64, b // 64 + 1)) for a, b, _ in seen]
    size = len(seen)
    inside = sum(times for _, _, times in seen)
    frames: dict[str, dict[str, list[int]]] = {
        "owners": {"owner": [MODULE_OWNER, STACK_OWNER], "kind": [MODULE, STACK]},
        "counts": {
            "owner": [MODULE_OWNER, STACK_OWNER],
            "reads": [inside, on_stack],
            "writes": [0, 0],
        },
        "module_owners": {"owner": [MODULE_OWNER], "module": [0], "member": [0]},
        "seen_in_modules": {
            "owner": [MODULE_OWNER] * size,
            "page": [0] * size,
            "lines": lines,
            "first": [one[0] for one in seen],
            "last": [one[1] for one in seen],
            "times": [one[2] for one in seen],
        },
        "seen_lines": {"owner": [], "page": [], "line": [], "thread": [], "writing": []},
    }
    unsigned = {"lines": pl.UInt64}
    return SimpleNamespace(
        members=[SimpleNamespace(shard=SimpleNamespace(modules=[SimpleNamespace(start=START)]))],
        **{
            name: pl.DataFrame(columns).cast(
                {column: unsigned.get(column, pl.UInt32) for column in columns}
            )
            for name, columns in frames.items()
        },
    )


def shares(group: Any, *variables: Variable) -> dict[int | None, float]:
    """The shares by the variables' distances from the start of the module."""
    found = hot_variables(group, variables)  # type: ignore[arg-type]
    return {
        None if address is None else address - START: share
        for address, share in found.select("address", "seen_share").iter_rows()
    }


def test_memory_between_variables_has_its_part() -> None:
    seen = group([(0, 7, 300), (256, 263, 700)])
    assert shares(seen, Variable(START)) == {0: 0.3, None: 0.7}


def test_what_is_beside_a_variable_in_its_line_is_not_in_use() -> None:
    """Samples add up lines: what is between two used variables may be padding."""
    seen = group([(0, 191, 900)])
    found = shares(seen, Variable(START), Variable(START + 184))
    assert found == {0: pytest.approx(1 / 3), 184: pytest.approx(1 / 3), None: pytest.approx(1 / 3)}


def test_the_end_of_a_large_variable_has_its_part() -> None:
    seen = group([(0, 7, 900), (512, 519, 100)])
    assert shares(seen, Variable(START), Variable(START + 256, 8192)) == {0: 0.9, 256: 0.1}


@pytest.mark.parametrize("on_stack", [0, 1_000_000])
def test_accesses_to_stacks_do_not_make_a_variable_rare(on_stack: int) -> None:
    seen = group([(0, 7, 990), (64, 71, 10)], on_stack)
    assert set(shares(seen, Variable(START), Variable(START + 64))) == {0, 64}


@pytest.mark.parametrize(("on_stack", "kept"), [(0, {0, 64}), (1_000_000, set())])
def test_those_of_a_library_are_structures_by_their_share_of_all(
    on_stack: int, kept: set[int]
) -> None:
    seen = group([(0, 7, 990), (64, 71, 10)], on_stack)
    library = "/usr/lib/x86_64-linux-gnu/libc.so.6"
    found = shares(seen, *(Variable(START + at, module=library) for at in (0, 64)))
    assert set(found) == kept


def test_only_the_rarest_are_no_structures() -> None:
    """The least used variables together have less than 0.5 %; each of the others has less, too."""
    times = [10_000, 45, 42, 30, 10, 5]
    seen = group([(64 * n, 64 * n + 7, count) for n, count in enumerate(times)])
    found = shares(seen, *(Variable(START + 64 * n) for n in range(len(times))))
    assert set(found) == {0, 64, 128}
