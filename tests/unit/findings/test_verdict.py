# SPDX-License-Identifier: Apache-2.0
"""The conclusion about a run, from its groups of findings."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from numascape.findings import verdict as module
from numascape.findings.finding import Figure, Finding, Fix, Gain, Kind, Remedy
from numascape.findings.groups import Group
from numascape.findings.verdict import fixes_of, verdict
from numascape.prediction.load import Tuning

RUN: Any = SimpleNamespace(nodes=object(), trace=None)


def group(
    kind: Kind, share: float | None = None, structure: int | None = 0, *, at_most: bool = False
) -> Group:
    fixes = (Fix("fix", Remedy.NONE if kind is Kind.LOAD_IMBALANCE else Remedy.USERS),)
    why = f"why {structure}"
    found = Finding(kind, structure, "A", (), why, fixes, (), Figure.FIRST_TOUCH, 1.0)
    gain = None if share is None else Gain(share, share, share, "links", "m", at_most=at_most)
    return Group((found,), 0.5, gain)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The verdict of a run with these groups."""

    def of(*groups: Group, only_touches: bool = False, interleaved: float = 1.0) -> str:
        monkeypatch.setattr(module, "group_findings", lambda *_: list(groups))
        monkeypatch.setattr(module, "only_touches", lambda _: only_touches)
        policy = SimpleNamespace(label="interleave", relative=interleaved)
        monkeypatch.setattr(module, "best_policy", lambda _: policy)
        return verdict(RUN, [])

    return of


def test_the_largest_gain_counts(said: Any) -> None:
    small, large = group(Kind.HOT_PAGES, 0.02), group(Kind.SERIAL_FIRST_TOUCH, 0.25)
    assert said(small, large) == "The first fix is predicted to save 25 % of the run time."
    assert said(small) == "The first fix is predicted to save 2 % of the run time."
    assert said(group(Kind.HOT_PAGES, 0.019)).startswith("No fix is predicted to save 2 % or more")


def test_the_gain_is_a_bound_if_only_samples_are_known(said: Any) -> None:
    sampled = said(group(Kind.HOT_PAGES, 0.02, at_most=True))
    assert sampled.startswith("The first fix is predicted to save at most 2 % of the run time: ")


def test_a_policy_that_saves_what_no_fix_does_is_told(said: Any) -> None:
    small = group(Kind.HOT_PAGES, 0.019)
    assert said(small, interleaved=0.97).endswith(
        "at this size. But the policy interleave saves 3 %."
    )
    assert said(small, interleaved=0.981).endswith("The findings may matter for larger inputs.")


def test_without_anything_to_do_the_finding_about_the_run_is_the_conclusion(said: Any) -> None:
    assert said(group(Kind.PARTITIONED), group(Kind.NO_PROBLEM, None, None)) == "why None"
    assert said(group(Kind.PARTITIONED)) == ""
    handed = said(group(Kind.PARTITIONED), group(Kind.PRODUCER_CONSUMER))
    assert handed.startswith("Threads hand data to each other. The nodes of these threads matter")
    assert said() == ""


def test_what_cannot_be_predicted_has_no_verdict(said: Any) -> None:
    assert said(group(Kind.SERIAL_FIRST_TOUCH)) == ""
    assert said(group(Kind.SERIAL_FIRST_TOUCH, 0.25), only_touches=True) == ""


def test_fixes_that_place_pages_are_predicted_by_their_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    groups = [
        *(group(Kind.SERIAL_FIRST_TOUCH), group(Kind.LOAD_IMBALANCE)),
        *(group(Kind.HOT_PAGES), group(Kind.PARTITIONED)),
    ]
    model = SimpleNamespace(predict=lambda _found, remedy, label: (remedy, label))
    monkeypatch.setattr(module, "group_findings", lambda *_: groups)
    made: list[Any] = []

    def make(_run: object, _nodes: object, tuning: Tuning | None, **_: object) -> object:
        made.append(tuning)
        return model

    monkeypatch.setattr(module, "remedied_run", lambda _: model)
    monkeypatch.setattr(module, "RemediedRun", make)
    found: list[object] = [*fixes_of(RUN, [])]
    assert [*fixes_of(RUN, [], Tuning(lines=2.0))] == found
    assert [*fixes_of(RUN, [], with_pages=True)] == found
    assert made == [Tuning(lines=2.0), None]
    assert found == [
        (Remedy.USERS, f"fix 1: {Kind.SERIAL_FIRST_TOUCH.value}"),
        (Remedy.USERS, f"fix 3: {Kind.HOT_PAGES.value}"),
    ]
    assert fixes_of(SimpleNamespace(nodes=None), []) == []  # type: ignore[arg-type]
