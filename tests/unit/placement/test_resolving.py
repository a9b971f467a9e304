# SPDX-License-Identifier: Apache-2.0
"""The rule of a plan for an allocation or a variable, found by its names."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from numascape.naming import AllocationSite
from numascape.placement import resolving
from numascape.placement.resolving import LoadedModule, PlacedVariable, Resolver
from numascape.plan import StructureRule

MODULE = LoadedModule("/bin/a", 0x5000, 0x9000, 0x4000)


def rule(**fields: Any) -> StructureRule:
    return StructureRule(**{"name": "A", "policy": "bind", **fields})


def resolver(*rules: StructureRule, **variables: Any) -> Resolver:
    """The module of a program with `variables`: the address and size by name."""
    made: Any = Resolver(rules)
    found = [
        SimpleNamespace(name=name, function="", file="/src/a.c", line=3, address=at, size=size)
        for name, (at, size) in variables.items()
    ]
    made._opened = lambda _: SimpleNamespace(globals=lambda: found)
    opened: Resolver = made
    return opened


def test_a_file_is_known_as_if_it_were_loaded_at_0() -> None:
    assert MODULE.unloaded == LoadedModule("/bin/a", 0x1000, 0x5000, 0)


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({}, 0),
        ({"name": "B"}, None),
        ({"kind": "global"}, 0),
        ({"kind": "heap"}, None),
        ({"file": "a.c"}, 0),
        ({"file": "/src/a.c"}, 0),
        ({"file": "/a.c"}, 0),
        ({"file": "b.c"}, None),
        ({"file": "c"}, None),
        ({"line": 3}, 0),
        ({"line": 4}, None),
        ({"function": "f"}, None),
    ],
)
def test_a_rule_fits_in_all_that_it_names(fields: dict[str, Any], found: int | None) -> None:
    placed = resolver(rule(**fields), A=(0x2000, 4096)).variables((MODULE,))
    assert [variable.rule for variable in placed] == ([] if found is None else [found])


def test_the_first_rule_that_fits_counts() -> None:
    rules = rule(name="B"), rule(line=4), rule(line=3), rule()
    assert [v.rule for v in resolver(*rules, A=(0, 4096)).variables((MODULE,))] == [2]


def test_a_page_belongs_to_the_variable_that_covers_half_of_it() -> None:
    made = resolver(rule(), A=(0x1800, 0x2000))
    assert made.variables((MODULE,)) == [
        # From 0x5800 to 0x7800: half of the first page is its own, and half of the last.
        PlacedVariable(0x5800, 0x2000, 0x6000, 0x8000, 0)
    ]
    almost = resolver(rule(), A=(0x17FF, 0x2000)).variables((MODULE,))
    assert [(v.first, v.end) for v in almost] == [(0x5000, 0x7000)]


def test_variables_of_less_than_a_page_have_no_rule() -> None:
    assert resolver(rule(), A=(0, 4095)).variables((MODULE,)) == []
    assert len(resolver(rule(), A=(0, 4096)).variables((MODULE,))) == 1


def stack_of(
    monkeypatch: pytest.MonkeyPatch, site: Any, frames: dict[int, int], *rules: StructureRule
) -> tuple[list[int], Any]:
    """The addresses that are looked up, and the resolver; `frames` is their number by address."""
    asked: list[int] = []

    def frames_of(_: object, address: int) -> list[str]:
        asked.append(address)
        return ["frame"] * frames[address]

    made = Resolver(rules)
    made._frames = frames_of  # type: ignore[method-assign, assignment]
    monkeypatch.setattr(resolving, "allocation_site", lambda *_: site)
    return asked, made


def named(name: str = "A", parts: tuple[str, ...] = (), offset: int = 0, decided: int = 0) -> Any:
    found: Any = SimpleNamespace(name=name, function="f", file="/src/a.c", line=3)
    return SimpleNamespace(name=found, parts=parts, offset=offset, decided=decided)


@pytest.mark.parametrize(("decided", "addresses"), [(0, 0), (1, 1), (2, 1), (3, 2), (4, 3), (5, 0)])
def test_as_many_addresses_decide_as_have_the_frames_that_did(
    monkeypatch: pytest.MonkeyPatch, decided: int, addresses: int
) -> None:
    frames = {0xFF: 2, 0x1FF: 1, 0x2FF: 1}
    asked, made = stack_of(monkeypatch, named(decided=decided), frames, rule())
    assert made.stack((), (0x100, 0x200, 0x300), is_mapping=False) == (0, addresses)
    # The call is before the address to which it returns.
    assert asked == [0xFF, 0x1FF, 0x2FF]


def test_blocks_and_mappings_have_rules_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    _, made = stack_of(monkeypatch, named(), {}, rule(kind="mapping"), rule(kind="heap"))
    assert made.stack((), (), is_mapping=True) == (0, 0)
    assert made.stack((), (), is_mapping=False) == (1, 0)
    _, other = stack_of(monkeypatch, named("B"), {}, rule())
    assert other.stack((), (), is_mapping=False) == (None, 0)


def test_calls_of_a_statement_allocate_its_variables_in_their_order() -> None:
    made = Resolver([])

    def variable(offset: int) -> str:
        return made._one_of(AllocationSite("site", ("x", "y", "z"), offset, 1))  # type: ignore[arg-type]

    assert [variable(offset) for offset in (30, 30, 10, 30, 20, 30, 40)] == [
        *("x", "x", "x", "y", "y", "z", "z")
    ]


def test_an_address_is_looked_up_in_the_module_around_it() -> None:
    made: Any = Resolver([])
    opened: list[LoadedModule] = []
    asked: list[int] = []

    def frames(address: int) -> list[str]:
        asked.append(address)
        return ["inside"]

    def open_file(file: LoadedModule) -> Any:
        opened.append(file)
        return SimpleNamespace(frames=frames)

    made._opened = open_file
    made._nowhere = SimpleNamespace(frames=lambda _: ["outside"])
    assert [made._frames((MODULE,), at) for at in (0x4FFF, 0x5000, 0x8FFF, 0x9000)] == [
        *(["outside"], ["inside"], ["inside"], ["outside"])
    ]
    assert asked == [0x1000, 0x4FFF]
    assert opened == [MODULE.unloaded] * 2
