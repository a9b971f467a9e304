# SPDX-License-Identifier: Apache-2.0
"""Plans as documents: written plans can be read again, and an error is one line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from numascape.errors import NumascapeError
from numascape.plan import Plan, StructureRule, ThreadRule
from numascape.plan.document import DOCUMENT, LARGEST_FILE, read_plan, write_plan
from numascape.plan.number_lists import parse_numbers
from numascape.plan.variables import VARIABLES

ROOT = Path(__file__).parents[3]
PLAN = Plan(
    threads=(
        ThreadRule((0, 8, 1, 9), order="0-3"),
        ThreadRule((4, 5), openmp="2,1"),
        ThreadRule((6, 7), name='io "worker"*', together=True),
    ),
    structures=(
        StructureRule(
            "key_array", "parts", "heap", "main", "/a/größe.c", 12, (0, 1), parts=(0, 0.4, 1)
        ),
        StructureRule("/block/ u", "weighted-interleave", nodes=(0, 1), weights=(3, 1)),
        StructureRule("std::vector<double>\\x", "bind", nodes=(1,)),
        StructureRule("grid", "interleave", nodes=(1, 0)),
        StructureRule("grid", "first-touch"),
        StructureRule("Stack#3", "preferred", "stack", nodes=(0,)),
    ),
    environment={"OMP_NUM_THREADS": "4"},
    program="sort",
    machine="two sockets",
    recorded_threads=4,
)
HEAD = 'format = "numascape-plan"\nversion = 1\n'


def refusal(text: str, folder: Path) -> str:
    path = folder / "plan.toml"
    path.write_text(text)
    with pytest.raises(NumascapeError) as caught:
        read_plan(path)
    message = str(caught.value)
    assert message.startswith(f"{path} ")
    assert "\n" not in message
    return message


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    for plan in (PLAN, Plan()):
        write_plan(plan, tmp_path / "plan.toml")
        assert read_plan(tmp_path / "plan.toml") == plan


def test_a_written_plan_leaves_out_what_says_nothing(tmp_path: Path) -> None:
    write_plan(PLAN, tmp_path / "plan.toml")
    text = (tmp_path / "plan.toml").read_text()
    assert text.startswith("# A plan for `numascape run --plan`")
    assert '[[threads]]\norder = "0-3"\ncpus = "0,8,1,9"\n\n' in text
    assert '[[structures]]\nname = "grid"\npolicy = "first-touch"\n' in text
    assert "nodes = [0, 1]\nparts = [0, 0.4, 1]\n" in text


def test_the_example_in_the_document_is_a_plan(tmp_path: Path) -> None:
    example = re.search(r"```toml\n(.*?)```", (ROOT / "docs/plan.md").read_text(), re.DOTALL)
    assert example is not None
    (tmp_path / "plan.toml").write_text(example[1])
    plan = read_plan(tmp_path / "plan.toml")
    assert plan.threads == (ThreadRule((0, 1, 8, 9), order="0-3"),)
    assert [rule.policy for rule in plan.structures] == ["parts", "interleave"]


def test_the_document_lists_the_variables_that_a_plan_may_set() -> None:
    section = (ROOT / "docs/plan.md").read_text().split("## Environment")[1].split("##")[0]
    assert set(re.findall(r"`([A-Z_]+)`", section)) == VARIABLES


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("[environment]\nLD_PRELOAD = 'x.so'", "environment.LD_PRELOAD: a plan may not set this"),
        ("[environment]\nOMP_TOOL_LIBRARIES = 'x.so'", "a plan may not set this variable"),
        ("[environment]\nOMP_PLACES = 3", "environment.OMP_PLACES: Input should be a valid string"),
        ("colour = 1", "colour: there is no such field"),
        ('program = "a\\u0007"', "program: it has characters that cannot be shown"),
        ("[[threads]]\ncpus = '3-1'\norder = '0'", "threads rule 1.cpus: '3-1' counts downwards"),
        ("[[threads]]\ncpus = ''\norder = '0'", "threads rule 1.cpus: it names no CPU"),
        ("[[threads]]\ncpus = '0-99999'\norder = '0'", "beyond the 65536 CPUs"),
        ("[[threads]]\ncpus = '0,0'\norder = '0'", "'0,0' has a number twice"),
        ("[[threads]]\ncpus = '0'", "threads rule 1 must have one of order, openmp and name"),
        ("[[threads]]\ncpus = '0'\norder = '1'\nname = 'x'", "must have one of order, openmp"),
        ("[[structures]]\nname = 'a'\npolicy = 'numa'", "structures rule 1.policy: Input should"),
        ("[[structures]]\npolicy = 'first-touch'", "structures rule 1.name: Field required"),
        ("[[structures]]\nname='a'\npolicy='bind'", "rule 1 (a): bind needs nodes"),
        ("[[structures]]\nname='a'\npolicy='bind'\nnodes=[0, 0]", "nodes has a node twice"),
        ("[[structures]]\nname='a'\npolicy='bind'\nnodes=[4096]", "rule 1.nodes number 1: Input"),
        ("[[structures]]\nname='a'\npolicy='bind'\nnodes=[0]\nweights=[1]", "takes no weights"),
        ("[[structures]]\nname='a'\npolicy='bind'\nnodes=[0]\nparts=[0,1]", "takes no parts"),
        ("[[structures]]\nname='a'\npolicy='first-touch'\nnodes=[0]", "first-touch takes no nodes"),
        ("[[structures]]\nname='a'\npolicy='parts'\nnodes=[0]\nparts=[0]", "need 2 boundaries"),
        ("[[structures]]\nname='a'\npolicy='parts'\nnodes=[0]\nparts=[0,0.5]", "end with 1"),
        ("[[structures]]\nname='a'\npolicy='parts'\nnodes=[0]\nparts=[0,nan]", "parts number 2"),
        (
            "[[structures]]\nname='a'\npolicy='parts'\nnodes=[0,1,0]\nparts=[0,0.6,0.6,1]",
            "parts must rise",
        ),
        (
            "[[structures]]\nname='a'\npolicy='weighted-interleave'\nnodes=[0,1]\nweights=[1]",
            "2 nodes need as many weights",
        ),
        (
            "[[structures]]\nname='a'\npolicy='weighted-interleave'\nnodes=[0]\nweights=[0]",
            "weights number 1: Input should be greater than or equal to 1",
        ),
    ],
)
def test_a_mistake_is_named_with_its_place(lines: str, said: str, tmp_path: Path) -> None:
    assert said in refusal(HEAD + lines, tmp_path)


@pytest.mark.parametrize("text", ["", "{", "a = [" * 3000, "\x00", "version = 1"])
def test_what_is_no_plan_is_said_to_be_none(text: str, tmp_path: Path) -> None:
    assert "is not a plan" in refusal(text, tmp_path)


def test_other_versions_are_refused(tmp_path: Path) -> None:
    assert "does not have format version 1" in refusal(HEAD.replace("1", "2"), tmp_path)


def test_files_that_are_too_large_or_absent_are_refused(tmp_path: Path) -> None:
    assert "larger than 4 MiB" in refusal("#" * (LARGEST_FILE + 1), tmp_path)
    with pytest.raises(NumascapeError, match=r"cannot read .*none\.toml: No such file"):
        read_plan(tmp_path / "none.toml")


def test_a_plan_that_cannot_be_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="bind needs nodes"):
        write_plan(Plan(structures=(StructureRule("a", "bind"),)), tmp_path / "plan.toml")
    assert not (tmp_path / "plan.toml").exists()


def test_lists_keep_their_order() -> None:
    assert parse_numbers("8,0-2,5") == (8, 0, 1, 2, 5)
    assert parse_numbers("") == ()


def test_the_schema_in_the_documents_is_the_one_that_is_read() -> None:
    """If this fails, write the expected text to docs/plan.schema.json."""
    schema = {**DOCUMENT.json_schema(), "title": "numascape plan, version 1"}
    assert json.loads((ROOT / "docs/plan.schema.json").read_text()) == schema
