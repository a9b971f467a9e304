# SPDX-License-Identifier: Apache-2.0
"""Two runs of a constructed program, before and after its first touch was fixed."""

from __future__ import annotations

import dataclasses
import io
import re

import numpy as np
import polars as pl
import pytest
from rich.console import Console

from numascape.analysis.remote import foreign_accesses, remote_accesses
from numascape.comparison import Comparison, compare_traces, parse_condition
from numascape.comparison.change import match_structures
from numascape.comparison.conclusion import cautions, conclusion
from numascape.comparison.document import comparison_document
from numascape.comparison.measures import StructureKey, StructureMeasures
from numascape.comparison.printing import print_comparison
from numascape.errors import NumascapeError
from numascape.trace import Trace
from numascape.trace.schema import SCHEMAS
from synthetic.in_memory import trace_of
from synthetic.pattern import Pattern

PAGES = 2048


def program(fixed: bool, name: str = "solver", line: int = 40) -> Pattern:
    """32 threads on nodes 0 and 1, each uses its pages of `field`; all read `table`."""
    pattern = Pattern(name, 32)
    pattern.placed_by_first_touch = True
    page = np.arange(PAGES)
    owner = page * 32 // PAGES
    field = pattern.structure("field", PAGES, line=line)
    pattern.access(field, page, owner, 3_000_000, 1_000_000)
    pattern.touch(field, page, owner if fixed else 0)
    table = pattern.structure("table", PAGES, line=41)
    pattern.access(table, page[None], np.arange(32)[:, None], 1000, 0)
    pattern.touch(table, page, 0)
    gone = pattern.structure("left" if fixed else "came", 1, line=42)
    pattern.access(gone, np.array([0]), 0, 5_000_000, 0)
    pattern.touch(gone, np.array([0]), 0)
    return pattern


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return compared(program(False), program(True, line=47))


@pytest.fixture(scope="module")
def worse() -> Comparison:
    return compared(program(True), program(False))


def compared(before: Pattern, after: Pattern) -> Comparison:
    traces = [trace_of(pattern, which) for which, pattern in (("before", before), ("after", after))]
    return compare_traces(traces[0], traces[1])


def test_structures_are_compared_by_where_their_accesses_go(comparison: Comparison) -> None:
    field = comparison.structures[0]
    assert field.before is not None
    assert field.after is not None
    assert (field.site.name, field.site.line) == ("field", 47)
    assert field.before.remote_share == pytest.approx(0.5)  # 16 of 32 threads are on node 1
    assert field.after.remote_share == 0
    assert field.before.foreign_share == pytest.approx(31 / 32)
    assert field.after.foreign_share == 0
    assert (field.before.nodes, field.after.nodes) == ({0: PAGES}, {0: PAGES // 2, 1: PAGES // 2})
    assert (field.before.first_toucher, field.before.first_touch_share) == (0, 1.0)
    assert field.after.first_touch_share == pytest.approx(1 / 32)


def test_what_is_in_one_run_only_has_no_partner(comparison: Comparison) -> None:
    alone = {c.site.name: (c.before is None, c.after is None) for c in comparison.structures}
    assert alone == {
        "field": (False, False),
        "table": (False, False),
        "came": (False, True),
        "left": (True, False),
    }


def test_the_run_is_compared_as_a_whole(comparison: Comparison) -> None:
    before, after = comparison.before, comparison.after
    made = PAGES * (4_000_000 + 32 * 1000) + 5_000_000
    assert (before.accesses, after.accesses) == (made, made)
    assert before.remote_share == pytest.approx(PAGES * (2_000_000 + 16 * 1000) / made)
    assert after.remote_share == pytest.approx(PAGES * 16 * 1000 / made)
    assert (before.busiest_node, before.busiest_node_share) == (0, 1.0)
    assert after.busiest_node_share == pytest.approx(
        (PAGES * (2_000_000 + 32 * 1000) + 5_000_000) / made
    )
    assert before.known_share == after.known_share == 1


def test_the_verdicts_are_those_of_advise(comparison: Comparison) -> None:
    before, after = comparison.verdicts
    said = "No fix is predicted to save 2 % or more of the run time on 4 x 16 CPUs at this size."
    assert before.startswith(f"2 findings. {said}")
    assert after.startswith("No NUMA problem found. ")


def test_structures_with_one_cause_are_one_finding() -> None:
    def three_fields(fixed: bool) -> Pattern:
        pattern = program(fixed)
        owner = np.arange(PAGES) * 32 // PAGES
        for name in ("u", "v"):
            field = pattern.structure(name, PAGES, line=40)
            pattern.access(field, np.arange(PAGES), owner, 3_000_000, 1_000_000)
            pattern.touch(field, np.arange(PAGES), owner if fixed else 0)
        return pattern

    comparison = compared(three_fields(False), three_fields(True))
    output = io.StringIO()
    print_comparison(Console(file=output, width=100), comparison, every=False)
    printed = output.getvalue()
    assert len([f for f in comparison.gone if f.kind.value == "serial first touch"]) == 3
    assert comparison.verdicts[0].startswith("2 findings.")  # the fields, and the table
    assert re.search(r"^Gone\n  serial first touch: field, u, v\n", printed, re.MULTILINE)


def test_findings_go_and_come(comparison: Comparison) -> None:
    assert ("serial first touch", "field") in {(f.kind.value, f.name) for f in comparison.gone}
    assert not {f.name for f in comparison.new} & {"field", "table"}
    names = {(f.kind.value, f.name) for f in comparison.kept}
    assert not names & {(f.kind.value, f.name) for f in (*comparison.gone, *comparison.new)}


def test_one_sentence_says_what_changed(comparison: Comparison, worse: Comparison) -> None:
    assert conclusion(comparison) == (
        "The remote share of the accesses falls from 50.0 % to 0.40 %. "
        "Gone: serial first touch (1 structure), one node serves all."
    )
    assert conclusion(worse) == (
        "The remote share of the accesses rises from 0.40 % to 50.0 %. "
        "New: serial first touch (1 structure), one node serves all."
    )
    output = io.StringIO()
    print_comparison(Console(file=output, width=100), comparison, every=False)
    assert output.getvalue().startswith(f"{conclusion(comparison)}\n")
    assert comparison_document(comparison)["conclusion"] == conclusion(comparison)


def test_other_conditions_are_named() -> None:
    assert cautions(compared(program(False), program(False))) == ()
    other = program(False)
    other.threads = 16
    other.accesses = [table.filter(pl.col("thread") < 16) for table in other.accesses]
    info = other.info()
    info["recorder"]["counts"] = "samples"
    other.info = lambda: info  # type: ignore[method-assign]
    counts, threads = cautions(compared(program(False), other))
    assert counts.startswith("The first trace counts accesses, the second one samples:")
    assert threads.startswith("The first run has 32 threads, the second one 16 threads:")


def test_estimates_from_a_share_of_the_work_are_named() -> None:
    traces = [trace_of(program(False), which) for which in ("before", "after")]
    recorder = dataclasses.replace(traces[1].info.recorder, options={"sample": 0.05})
    traces[1].__dict__["info"] = dataclasses.replace(traces[1].info, recorder=recorder)
    rows = [(0, 0, 0, group, 30, 70, 2) for group in range(8)]
    schema = SCHEMAS["burst_groups"]
    traces[1].__dict__["burst_groups"] = pl.DataFrame(rows, schema, orient="row")
    (estimates,) = cautions(compare_traces(traces[0], traces[1]))
    assert estimates.startswith("The second trace has estimates from 5.0 % of the work. ")
    assert "is right within 6.2 %, and" in estimates  # one of 16 bursts


def test_a_thread_that_wandered_counts_on_each_of_its_nodes_alike() -> None:
    trace = trace_of(program(True), "one")
    wandered = trace.threads.with_columns(nodes=pl.lit([0, 1, 3], pl.List(pl.UInt32)))
    trace.__dict__["threads"] = wandered
    field = remote_accesses(trace).filter(pl.col("structure") == 0)
    assert field["node"].to_list() == [0, 1]
    assert field["remote"].to_list() == pytest.approx([2 / 3 * PAGES / 2 * 4_000_000] * 2)


def test_what_nobody_knows_is_left_out() -> None:
    trace = trace_of(program(False), "one")
    trace.__dict__["placement"] = trace.placement.with_columns(node=pl.lit(-1, pl.Int32))
    trace.__dict__["first_touch"] = trace.first_touch.head(0)
    assert remote_accesses(trace).is_empty()
    assert foreign_accesses(trace).is_empty()
    comparison = compare_traces(trace, trace)
    assert comparison.before.remote_share is None
    assert comparison.before.foreign_share is None
    assert comparison.before.busiest_node is None
    assert conclusion(comparison).startswith("In the first and the second trace, it is unknown")


def site(name: str, function: str = "main", file: str = "a.c", line: int = 1) -> StructureKey:
    return StructureKey(name, "heap", function, file, line)


def measures() -> StructureMeasures:
    return StructureMeasures((0,), 1, 1, 1, 1, 0.1, 1, None, None, None, None, {})


@pytest.mark.parametrize(
    ("before", "after", "pairs"),
    [
        ([site("A")], [site("A", line=9)], [("A", "A")]),
        ([site("A")], [site("A", function="setup", line=9)], [("A", "A")]),
        ([site("A")], [site("A", file="b.c")], [("A", "A")]),
        ([site("A")], [site("B")], [("A", None), (None, "B")]),
        # Two structures with one name: the exact match first, then the remaining ones.
        ([site("A"), site("A", line=5)], [site("A"), site("A", line=7)], [("A", "A")] * 2),
        (
            [site("A", line=5), site("A", line=6)],
            [site("A", line=7)],
            [("A", None), ("A", None), (None, "A")],
        ),
    ],
)
def test_structures_are_matched_by_as_much_as_they_have_in_common(
    before: list[StructureKey],
    after: list[StructureKey],
    pairs: list[tuple[str | None, str | None]],
) -> None:
    found = match_structures(
        {site: measures() for site in before}, {site: measures() for site in after}
    )
    names = [(c.site.name if c.before else None, c.site.name if c.after else None) for c in found]
    assert sorted(names, key=str) == sorted(pairs, key=str)


@pytest.mark.parametrize(
    ("text", "fails"),
    [
        ("remote-share+5", False),
        ("remote-share+0", False),
        ("foreign-share+0", False),
        ("accesses+0", False),
        ("pages+0%", False),
        ("findings+100", False),
    ],
)
def test_a_cure_breaks_no_condition(comparison: Comparison, text: str, fails: bool) -> None:
    assert (parse_condition(text).failure(comparison) is not None) == fails


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        ("remote-share+48", "remote-share rose from 0.40 % to 50.0 %"),
        ("remote-share+50", None),
        ("remote-share+100%", "remote-share rose from 0.40 % to 50.0 %"),
        ("busiest-node-share+49", "busiest-node-share rose from 50.4 % to 100 %"),
        ("busiest-node-share+50", None),
        ("busiest-node-share+97%", "busiest-node-share rose from 50.4 % to 100 %"),
        ("busiest-node-share+99%", None),
        ("threads+0", None),
    ],
)
def test_conditions_hold_up_to_their_number(
    worse: Comparison, text: str, failure: str | None
) -> None:
    assert parse_condition(text).failure(worse) == failure


def test_new_findings_are_counted(worse: Comparison) -> None:
    assert len(worse.new) > 0
    failure = parse_condition("findings+0").failure(worse)
    assert failure == f"{len(worse.new)} new findings"
    assert parse_condition(f"findings+{len(worse.new)}").failure(worse) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is not a condition"),
        ("remote-share", "is not a condition"),
        ("remote-share-5", "is not a condition"),
        ("remote-share+-5", "is not a condition"),
        ("remote-share+nan", "is not a condition"),
        ("speed+5", "there is no metric 'speed': choose one of remote-share"),
        ("findings+5%", "write findings\\+5"),
    ],
)
def test_mistakes_in_conditions_are_named(text: str, reason: str) -> None:
    with pytest.raises(NumascapeError, match=reason):
        parse_condition(text)


def test_a_condition_on_what_nobody_knows_is_a_mistake() -> None:
    trace = trace_of(program(False), "one")
    trace.__dict__["placement"] = trace.placement.head(0)
    with pytest.raises(NumascapeError, match="does not say on which nodes"):
        parse_condition("remote-share+5").failure(compare_traces(trace, trace))


def test_the_document_has_both_sides(comparison: Comparison) -> None:
    document = comparison_document(comparison)
    field = document["structures"][0]
    assert (field["name"], field["before"]["nodes"]) == ("field", {0: PAGES})
    assert field["after"]["nodes"] == {0: PAGES // 2, 1: PAGES // 2}
    assert document["structures"][-1]["before"] is None or (
        document["structures"][-1]["after"] is None
    )
    assert document["before"]["verdict"] == comparison.verdicts[0]
    assert document["before"]["remote_share"] > document["after"]["remote_share"]
    assert {"gone", "new", "kept"} == set(document["findings"])


def test_a_run_compared_with_itself_has_not_changed() -> None:
    trace: Trace = trace_of(program(False), "one")
    same = compare_traces(trace, trace)
    assert all(change.before == change.after for change in same.structures)
    assert (same.gone, same.new) == ((), ())


def test_a_table_of_many_structures_has_the_most_used_ones() -> None:
    """A job of MPI has some hundreds of structures of libraries."""
    pattern = Pattern("job", 1)
    for number in range(100):
        structure = pattern.structure(f"s{number}", 1)
        pattern.access(structure, np.array([0]), 0, 1000 - number, 0)
        pattern.touch(structure, np.array([0]), 0)
    found = compared(pattern, pattern)
    assert len(found.structures) == 100

    def printed(every: bool) -> str:
        console = Console(file=io.StringIO(), width=100)
        print_comparison(console, found, every=every)
        assert isinstance(console.file, io.StringIO)
        return console.file.getvalue()

    few = printed(every=False)
    assert "s39 " in few
    assert "s40 " not in few
    assert "60 structures with fewer accesses are not shown (--all)" in few
    assert "s99 " in printed(every=True)
