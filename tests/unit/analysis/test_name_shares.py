# SPDX-License-Identifier: Apache-2.0
"""The shares of accesses with and without a name, and advice for more names."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from numascape.analysis.name_shares import Named, NameShares, name_shares, named_in

Structure = tuple[str, str, str, int]
"""Kind, name, module, accesses."""


def shares(*structures: Structure, counts: str = "accesses") -> NameShares:
    rows = range(len(structures))
    touches = [number for number in rows for _ in range(structures[number][3])]
    trace: Any = SimpleNamespace(
        info=SimpleNamespace(
            recorder=SimpleNamespace(counts=counts),
            program="/opt/bin/sum",
            processes=[SimpleNamespace(program="/opt/bin/other")],
        ),
        structures=pl.DataFrame(
            {
                "structure": list(rows),
                "kind": [one[0] for one in structures],
                "name": [one[1] for one in structures],
                "module": [one[2] for one in structures],
                "named": [True] * len(structures),
            }
        ),
        accesses=pl.DataFrame(
            {
                "structure": list(rows),
                "reads": [one[3] // 2 for one in structures],
                "writes": [one[3] - one[3] // 2 for one in structures],
            }
        ),
        first_touch=pl.DataFrame({"structure": touches}),
    )
    return name_shares(trace)


@pytest.mark.parametrize(
    ("kind", "name", "named"),
    [
        ("heap", "A", Named.SOURCE),
        ("region", "unknown", Named.SOURCE),
        ("unowned", "A", Named.NOTHING),
        ("heap", "heap block of unknown origin", Named.NOTHING),
        ("heap", "libx.so+0x1f", Named.NOTHING),
        ("heap", "libx.so+0x1f rest", Named.SOURCE),
        ("stack", "A", Named.RUNTIME),
        ("global", "variables under a page of sum", Named.NOTHING),
    ],
)
def test_what_a_name_refers_to(kind: str, name: str, named: Named) -> None:
    assert named_in({"kind": kind, "name": name, "module": "sum", "named": True}) is named


def test_memory_of_message_passing_is_a_runtimes_also_without_a_name() -> None:
    row = {"kind": "small", "name": "opal_setenv+0x1cf", "named": True}
    assert named_in({**row, "module": "libopen-pal.so.40"}) is Named.RUNTIME
    assert named_in({**row, "module": "mca_btl_vader.so"}) is Named.RUNTIME
    assert named_in({**row, "module": "libx264.so.164"}) is Named.NOTHING


def test_rare_small_variables_need_no_debug_information() -> None:
    found = shares(("heap", "A", "sum", 6), ("global", "variables under a page of sum", "sum", 4))
    assert (found.source, found.nothing, found.advice) == (0.6, 0.4, ())


@pytest.mark.parametrize("counts", ["accesses", "first touches"])
def test_all_accesses_are_divided_by_their_names(counts: str) -> None:
    found = shares(
        ("heap", "A", "sum", 5),
        ("heap", "B", "sum", 2),
        ("stack", "S", "sum", 2),
        ("heap", "unknown", "", 1),
        counts=counts,
    )
    assert (found.source, found.runtime, found.nothing) == (0.7, 0.2, 0.1)
    assert found.advice == ()  # no module
    assert found.text() == (
        "70.0 % of them in structures named in the source, 20.0 % in stacks, runtimes and code, "
        "10.0 % in memory without a name"
    )


def test_a_kind_of_memory_without_accesses_is_not_said() -> None:
    found = shares(("heap", "A", "sum", 1))
    assert found.text() == "100 % of them in structures named in the source"
    assert shares(("heap", "A", "sum", 0)) == NameShares(0.0, 0.0, 1.0, ())


def test_a_module_without_names_is_to_be_compiled_with_g_most_accesses_first() -> None:
    found = shares(
        ("heap", "unknown", "/opt/bin/sum", 10),
        ("heap", "unknown", "/usr/lib/libz.so", 30),
        ("heap", "sum+0x1", "sum", 50),
        ("heap", "unknown", "/usr/lib/liba.so", 30),
        ("heap", "unknown", "/opt/bin/other", 1),
        ("heap", "A", "sum", 79),
    )
    debug = "install the debug symbols of {0}, or compile it with -g."
    assert found.advice == (
        "To name 30.0 % more: compile sum with -g.",
        f"To name 15.0 % more: {debug.format('liba.so')}",
        f"To name 15.0 % more: {debug.format('libz.so')}",
    )


@pytest.mark.parametrize(("accesses", "said"), [(99, 1), (100, 0)])
def test_less_than_one_percent_is_no_advice(accesses: int, said: int) -> None:
    found = shares(("heap", "unknown", "sum", 1), ("heap", "A", "sum", accesses))
    assert len(found.advice) == said
