# SPDX-License-Identifier: Apache-2.0
"""The nodes of threads: by a rule, as seen in the run, by a plan, or by a map."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from numascape.errors import NumascapeError
from numascape.machine import Machine, MachineNode
from numascape.plan import Plan, ThreadRule
from numascape.prediction import layout
from numascape.prediction.layout import laid_out, nodes_by_plan, observed_nodes, read_thread_map
from numascape.trace import Trace
from unit.prediction.made_up import machine_of, trace_of


def uneven(**known: object) -> Machine:
    """Node 5 has CPUs 0 and 3, node 6 has CPU 1, node 7 none."""
    nodes = MachineNode(5, (0, 3), 0), MachineNode(6, (1,), 0), MachineNode(7, (), 0)
    return Machine("uneven", nodes, **known)  # type: ignore[arg-type]


def run(threads: int, machine: Machine | None = None) -> Trace:
    return trace_of([(0, 0, 1, 0)], threads, machine=machine)


def test_threads_fill_uneven_nodes_in_proportion_to_their_cpus() -> None:
    assert laid_out(3, uneven()).tolist() == [5, 5, 6]
    assert laid_out(6, uneven()).tolist() == [5, 5, 5, 5, 6, 6]
    assert laid_out(2, uneven()).tolist() == [5, 5]


def test_scattered_threads_take_nodes_in_turn_as_long_as_they_have_cpus() -> None:
    assert laid_out(7, uneven(), "scatter").tolist() == [5, 6, 5, 5, 6, 5, 5]


def test_numbered_threads_are_on_the_cpus_by_number() -> None:
    assert laid_out(5, uneven(), "numbered").tolist() == [5, 6, 5, 5, 6]


def test_only_usable_cpus_count() -> None:
    assert laid_out(2, uneven(allowed_cpus=(1,))).tolist() == [6, 6]
    with pytest.raises(NumascapeError, match="uneven has no CPU for threads to run on"):
        laid_out(2, uneven(allowed_cpus=(9,)))


def test_a_thread_that_was_seen_on_one_node_is_there() -> None:
    trace = run(4, machine_of(2))
    seen = pl.Series([[1], [0, 1], [], [0, 0]], dtype=pl.List(pl.UInt32))
    trace.__dict__["threads"] = trace.threads.with_columns(nodes=seen)
    assert observed_nodes(trace, machine_of(2)).tolist() == [1, -1, -1, 0]
    # The trace says nothing about a machine with other nodes.
    assert observed_nodes(trace, machine_of(2, first=3)).tolist() == [3, 3, 4, 4]


def by_plan(threads: int, *rules: ThreadRule, recorded: int = 0) -> list[int]:
    plan = Plan(threads=rules, recorded_threads=recorded)
    found: list[int] = nodes_by_plan(run(threads), plan, machine_of(2)).tolist()
    return found


def test_threads_of_a_rule_take_its_cpus_in_turn() -> None:
    # CPUs 0 and 1 are node 0's, 2 and 3 node 1's.
    assert by_plan(4, ThreadRule((3, 0), order="1-3")) == [0, 1, 0, 1]
    assert by_plan(4, ThreadRule((2, 3), order="0", together=True)) == [1, 0, 1, 1]
    assert by_plan(4, ThreadRule((1, 2), order="0", together=True)) == [-1, 0, 1, 1]
    assert by_plan(4, ThreadRule((3, 0), openmp="0-1")) == [1, 0, 1, 1]
    assert by_plan(4, ThreadRule((), order="0")) == [0, 0, 1, 1]


def test_names_are_patterns_and_count_their_own_threads() -> None:
    assert by_plan(4, ThreadRule((3, 0), name="t[13]")) == [0, 1, 1, 0]
    assert by_plan(4, ThreadRule((3,), name="T3")) == [0, 0, 1, 1]


def test_more_or_fewer_threads_share_the_recorded_places() -> None:
    rule = ThreadRule((3, 0), order="0-1")
    assert by_plan(4, rule, recorded=2) == [1, 1, 0, 0]
    # Two threads for four recorded ones take the places 0 and 2.
    assert by_plan(2, ThreadRule((0,), order="2"), recorded=4) == [0, 0]
    assert by_plan(1, rule, recorded=8) == [1]


def test_maps_that_are_wrong_say_where(tmp_path: Path) -> None:
    file = tmp_path / "map"
    for text, wrong in (
        ("0\n-2\n", r"map, entry 2: expected"),
        ("0 2147483648\n", "entry 1: expected"),
        ("0\n\n# no\n1 x\n", "entry 2: expected"),
        ("3 0\n", "entry 1: there is no thread 3; the trace has 3"),
        ("-1 0\n", "entry 1: there is no thread -1"),
        ("0\n0\n0\n0\n", "entry 4: there is no thread 3"),
    ):
        file.write_text(text)
        with pytest.raises(NumascapeError, match=wrong):
            read_thread_map(file, 3)
    file.write_text("0 2147483647\n2 -1\n")
    assert read_thread_map(file, 3).tolist() == [2147483647, -1, -1]
    with pytest.raises(NumascapeError, match=r"cannot read .*absent: No such file"):
        read_thread_map(tmp_path / "absent", 3)


def test_a_map_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "map"
    with file.open("w") as sparse:
        sparse.write("0\n")
        sparse.truncate((16 << 20) + 1)
    with pytest.raises(NumascapeError, match="larger than 16 MiB"):
        read_thread_map(file, 1)


def test_a_map_may_have_the_largest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "map"
    file.write_text("7\n")
    monkeypatch.setattr(layout, "_LARGEST_MAP", 2)
    assert read_thread_map(file, 1).tolist() == [7]
