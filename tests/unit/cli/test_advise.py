# SPDX-License-Identifier: Apache-2.0
"""The verb `advise`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from numascape.plan.document import read_plan
from numascape.quantities import counted, percent
from synthetic.pattern import Pattern
from synthetic.patterns import naive_matmul, seismic
from synthetic.write import touches_alone, write_pattern
from unit.findings.stream_cases import handed

Numascape = Callable[..., tuple[int, str, str]]


def on_one_node(pattern: Pattern) -> Pattern:
    whole = pattern.info()
    whole["machine"]["nodes"] = whole["machine"]["nodes"][:1]
    pattern.info = lambda: whole  # type: ignore[method-assign]
    return pattern


@pytest.fixture
def stencil(tmp_path: Path) -> Path:
    """A stencil's fields, initialised by one thread; a machine with one node."""
    path = tmp_path / "run.numascape"
    write_pattern(on_one_node(seismic(1920, 16)), path)
    return path


def test_findings_say_why_and_what_to_do(numascape: Numascape, stencil: Path) -> None:
    status, output, _ = numascape("advise", stencil)
    assert status == 0
    lines = [line.strip() for line in output.splitlines()]
    assert lines[0].startswith("seismic: 16 threads, on 4 x 16 CPUs (1 node)")
    assert "1  serial first touch  grid->vx, grid->vy, grid->vz, grid->sxx and 6 more" in lines
    assert any(line.startswith("Cause: Thread 0 touched 100 % of the pages") for line in lines)
    assert any(line.startswith("Fix: Initialise each part in the thread") for line in lines)
    # On one node, nothing is predicted, and the text says so.
    assert "shares of accesses, not of time" in output


def test_a_gain_is_predicted_for_a_machine(numascape: Numascape, stencil: Path) -> None:
    _, output, _ = numascape("advise", stencil, "--machine", "numa16")
    assert "(8 nodes)" in output.splitlines()[0]
    assert "of the run time saved, predicted for NUMA16" in output
    assert "not of time" not in output


def test_json_has_every_number(numascape: Numascape, stencil: Path) -> None:
    _, output, _ = numascape("advise", stencil, "--json", "-m", "numa16")
    read = json.loads(output)
    assert read["machine"].startswith("NUMA16")
    first = read["findings"][0]
    assert first["to_do"]
    assert 0 < first["gain"]["share"] < 1
    serial = next(f for f in read["findings"] if f["kind"] == "serial first touch")
    assert serial["threads"] == list(range(1, 16))
    assert serial["place"]["line"] == 131
    numbers = {evidence["what"]: evidence["value"] for evidence in serial["evidence"]}
    assert numbers["pages touched first by one thread"] == 1


def test_all_prints_the_evidence(numascape: Numascape, stencil: Path) -> None:
    _, output, _ = numascape("advise", stencil, "--all")
    assert "pages touched first by one thread: 100 %" in output
    assert "threads 1-15" in output


def test_a_program_that_is_well_is_told_so(numascape: Numascape, tmp_path: Path) -> None:
    pattern = seismic(1920, 16, parallel=True)
    write_pattern(on_one_node(pattern), tmp_path / "run.numascape")
    _, output, _ = numascape("advise", tmp_path / "run.numascape")
    assert "No NUMA problem found." in output
    assert "partitioned: grid->vx" in output
    assert "1  " not in output


def test_a_plan_is_written(numascape: Numascape, tmp_path: Path) -> None:
    write_pattern(naive_matmul(256, 64), tmp_path / "run.numascape")
    plan = tmp_path / "plan.toml"
    status, _, errors = numascape("advise", tmp_path / "run.numascape", "-m", "numa16", "-o", plan)
    assert status == 0
    assert errors == f"numascape: wrote {plan}\n"
    assert read_plan(plan).recorded_threads == 64


def test_that_a_plan_is_empty_is_said(numascape: Numascape, trace_folder: Path) -> None:
    plan = trace_folder.with_name("plan.toml")
    _, _, errors = numascape("advise", trace_folder, "-o", plan)
    assert errors == (
        f"numascape: wrote {plan}: an empty plan, because lovelace has one node "
        "(name another machine with --machine)\n"
    )
    assert read_plan(plan).says_nothing


def test_names_do_not_steer_the_terminal(numascape: Numascape, tmp_path: Path) -> None:
    pattern = seismic(1920, 16)
    pattern.structures[0]["name"] = "vx\x1b[2J\u202e"
    write_pattern(on_one_node(pattern), tmp_path / "run.numascape")
    _, output, _ = numascape("advise", tmp_path / "run.numascape")
    assert "\x1b" not in output
    assert "\u202e" not in output


def test_a_missing_trace_is_one_line(numascape: Numascape, tmp_path: Path) -> None:
    status, output, errors = numascape("advise", tmp_path / "none.numascape")
    assert (status, output) == (2, "")
    assert errors.count("\n") == 1


def test_of_first_touches_it_says_what_cannot_be_judged(
    numascape: Numascape, tmp_path: Path
) -> None:
    trace = tmp_path / "run.numascape"
    write_pattern(touches_alone(on_one_node(seismic(1920, 16))), trace)
    status, output, _ = numascape("advise", trace)
    words = " ".join(output.split())
    assert status == 0
    assert "These findings need counts of accesses: serial first touch;" in words
    assert "1 first touch by one thread grid->vx" in words
    assert "1 finding, most pages first" in words
    read = json.loads(numascape("advise", trace, "--json")[1])
    assert "serial first touch" in read["not_judged"]
    plan = tmp_path / "plan.toml"
    status, _, errors = numascape("advise", trace, "-o", plan)
    assert status == 2
    assert len(errors.splitlines()) == 1
    assert "only first touches" in errors
    assert not plan.exists()


def test_findings_of_samples_are_labelled_so(numascape: Numascape, tmp_path: Path) -> None:
    pattern = on_one_node(seismic(1920, 16))
    pattern.info()["recorder"]["counts"] = "samples"
    trace = write_pattern(pattern, tmp_path / "run.numascape")
    samples = trace.info.totals.reads + trace.info.totals.writes
    _, output, _ = numascape("advise", trace.path)
    assert f"based on {counted(samples, 'sample')} of accesses, so every share is an" in output
    assert "1  serial first touch" in output
    assert json.loads(numascape("advise", trace.path, "--json")[1])["counts"] == "samples"


def test_advice_and_prediction_are_the_same(numascape: Numascape, stencil: Path) -> None:
    _, output, _ = numascape("advise", stencil, "--json", "-m", "numa16")
    advised = json.loads(output)
    _, output, _ = numascape("predict", stencil, "--json", "-m", "numa16")
    predicted = json.loads(output)
    assert predicted["verdict"] == advised["verdict"]
    fixes = [p for p in predicted["predictions"] if p["policy"].startswith("fix ")]
    first = advised["findings"][0]
    assert fixes[0]["policy"] == f"fix 1: {first['kind']}"
    saved = percent(1 - fixes[0]["relative"])
    assert predicted["verdict"] == f"The first fix is predicted to save {saved} of the run time."
    # If one policy is asked for, no other policy is predicted.
    _, output, _ = numascape("predict", stencil, "--json", "-m", "numa16", "-p", "interleave")
    assert [p["policy"] for p in json.loads(output)["predictions"]] == ["interleave"]


def test_a_gain_of_nothing_is_said_with_its_reason(
    numascape: Numascape, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pattern = naive_matmul(256, 8)
    info = pattern.info()
    info["machine"]["nodes"] = info["machine"]["nodes"][:1]
    monkeypatch.setattr(pattern, "info", lambda: info)
    small = tmp_path / "small.numascape"
    write_pattern(pattern, small)
    status, output, error = numascape("advise", small, "-m", "xeon-x7550")
    assert (status, error) == (0, "")
    assert "1  shared, read-mostly  " in output
    assert "No fix is predicted to save 2 % or more of the run time on " in output
    assert "fit into the last-level cache (18 MiB). Record a larger input." in output
    assert "No NUMA problem" not in output


def test_what_threads_hand_to_each_other_is_told_with_its_advice(
    numascape: Numascape, tmp_path: Path
) -> None:
    path = tmp_path / "ring.numascape"
    write_pattern(on_one_node(handed()), path)
    status, output, _ = numascape("advise", path)
    assert status == 0
    lines = [line.strip() for line in output.splitlines()]
    assert "producer and consumer: ring" in lines
    assert any(line.startswith("It is filled again and again by thread 1") for line in lines)
    assert any("Run these threads on one node" in line for line in lines)
    assert lines[lines.index("No action needed") + 1 :] == ["partitioned: own"]


def test_without_a_predicted_gain_show_begins_with_the_reason(
    numascape: Numascape, stencil: Path
) -> None:
    head = numascape("show", stencil)[1].splitlines()[0]
    assert re.match(
        r"1 finding: serial first touch \(grid->\w+, .*\)\. All accesses are local", head
    )
    assert head.endswith("matters only on a machine with CPUs on several nodes.")
