# SPDX-License-Identifier: Apache-2.0
"""The sentences about a group of findings, and the order of groups."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from numascape.findings import groups
from numascape.findings.finding import Figure, Finding, Fix, Gain, Kind, Remedy
from numascape.findings.gain import _sum, joint_gain
from numascape.findings.groups import Group, group_findings, stake_of


def finding(kind: Kind = Kind.SERIAL_FIRST_TOUCH, nearer: int = 0) -> Finding:
    fixes = (Fix("fix"),)
    return Finding(kind, 0, "A", (), "", fixes, (), Figure.FIRST_TOUCH, 1.0, nearer=nearer)


def gain(share: float, low: float, high: float, limited: str = "") -> Gain:
    return Gain(share, low, high, "links", "m", limited)


def test_a_gain_is_said_with_its_interval_never_below_zero() -> None:
    group = Group((finding(),), 0.5, gain(0.12, 0.06, 0.25))
    assert stake_of(group) == ("12 %", "of the run time saved, predicted for m (6 % to 25 %)")
    turned = Group((finding(),), 0.5, gain(0.3, 0.6, 0.2))
    assert stake_of(turned)[1].endswith("(20 % to 60 %)")
    label = "of the run time saved, predicted for m. Links"
    assert stake_of(Group((finding(),), 0.5, gain(-0.2, -0.3, -0.1, "Links"))) == ("0 %", label)
    tiny = gain(5e-5, 4e-5, 6e-5, "Links")
    assert stake_of(Group((finding(),), 0.5, tiny)) == ("< 0.01 %", label)


def test_a_gain_from_samples_is_said_as_a_bound() -> None:
    bound = replace(gain(0.06, 0.0, 0.1), at_most=True)
    told = ("at most 6 %", "of the run time saved, predicted for m")
    assert stake_of(Group((finding(),), 0.5, bound)) == told


@pytest.mark.parametrize(
    ("kind", "of_touches", "label"),
    [
        (Kind.SERIAL_FIRST_TOUCH, False, "of accesses could become local"),
        (Kind.SERIAL_FIRST_TOUCH, True, "of touched pages"),
        (Kind.LINE_TRUE_SHARING, False, "use a cache line that other threads write"),
        (Kind.LINE_FALSE_SHARING, False, "use a cache line that other threads write"),
        (Kind.LOAD_IMBALANCE, False, "of accesses are made while other threads wait"),
    ],
)
def test_without_a_gain_the_share_of_accesses_is_said(
    kind: Kind, of_touches: bool, label: str
) -> None:
    number, text = stake_of(Group((finding(kind),), 0.5, None, of_touches))
    assert number.startswith("50")
    assert label in text


def test_what_needs_nothing_to_be_done_has_no_stake() -> None:
    assert stake_of(Group((finding(Kind.PARTITIONED),), 0.5, None)) == ("", "")


def test_groups_with_a_fix_and_a_large_gain_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        finding(Kind.PARTITIONED, nearer=90),
        finding(Kind.LOAD_IMBALANCE, nearer=80),
        finding(Kind.SERIAL_FIRST_TOUCH, nearer=10),
        finding(Kind.SHARED_WRITTEN, nearer=150),
    ]
    gains = {Kind.SERIAL_FIRST_TOUCH: gain(0.3, 0.2, 0.4), Kind.SHARED_WRITTEN: gain(0.1, 0, 1)}
    monkeypatch.setattr(groups, "joint_gain", lambda _, members: gains.get(members[0].kind))
    monkeypatch.setattr(groups, "only_touches", lambda _: False)
    run: Any = SimpleNamespace(accesses=100, nodes=object(), trace=None)
    made = group_findings(run, found)
    assert [group.kind for group in made] == [
        *(Kind.SERIAL_FIRST_TOUCH, Kind.SHARED_WRITTEN),
        *(Kind.LOAD_IMBALANCE, Kind.PARTITIONED),
    ]
    assert [group.share for group in made] == [0.1, 1.0, 0.8, 0.9]
    # Without nodes nothing is predicted.
    run.nodes = None
    monkeypatch.setattr(groups, "joint_gain", lambda *_: None)
    assert [group.share for group in group_findings(run, found)] == [1.0, 0.8, 0.1, 0.9]
    run.accesses = 0
    assert [group.share for group in group_findings(run, found)] == [0.0] * 4


def test_gains_that_are_predicted_one_by_one_are_added() -> None:
    first, second = gain(0.3, 0.2, 0.6), gain(0.2, 0.1, 0.5, "of the second")
    added = _sum([first, None, second])
    assert added is not None
    assert [added.share, added.low, added.high] == pytest.approx([0.5, 0.3, 1.0])
    assert added.limited == ""  # all else is that of the first finding
    assert _sum([None, None]) is None


def test_a_joint_gain_needs_nodes_and_accesses(monkeypatch: pytest.MonkeyPatch) -> None:
    run: Any = SimpleNamespace(nodes=None, trace=None)
    monkeypatch.setattr("numascape.findings.gain.only_touches", lambda _: True)
    assert joint_gain(run, [finding()]) is None
    run.nodes = object()
    assert joint_gain(run, [finding()]) is None
    monkeypatch.setattr("numascape.findings.gain.only_touches", lambda _: False)
    assert finding().remedy is Remedy.NONE
    assert joint_gain(run, [finding()]) is None  # nothing was predicted for it
