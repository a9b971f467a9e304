# SPDX-License-Identifier: Apache-2.0
"""The verb `predict`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from numascape.plan import Plan, StructureRule
from numascape.plan.document import write_plan
from numascape.trace import TraceInfo, write_trace

Numascape = Callable[..., tuple[int, str, str]]
Tables = dict[str, pl.DataFrame]


def test_every_policy_is_a_row_relative_to_what_was_observed(
    numascape: Numascape, trace_folder: Path
) -> None:
    status, output, _ = numascape("predict", trace_folder, "--machine", "numa16")
    assert status == 0
    lines = output.splitlines()
    assert lines[0].startswith("predicted for sum.numascape on NUMA16")
    assert lines[0].endswith("relative to the run as observed")
    rows = {line.split()[0]: line.split()[1] for line in lines[2:7]}
    assert list(rows) == [
        "observed", "first-touch", "interleave", "weighted-interleave", "balancing",
    ]  # fmt: skip
    assert rows["observed"] == "1.00"
    assert "assumed: lines from memory: estimated from accesses (record with --traffic)" in lines


def test_json_says_that_it_is_a_prediction_and_its_traffic_adds_up(
    numascape: Numascape, trace_folder: Path
) -> None:
    _, output, _ = numascape(
        "predict", trace_folder, "-m", "numa16", "-p", "interleave", "-p", "first-touch", "--json"
    )
    document = json.loads(output)
    assert document["kind"] == "prediction"
    interleave, first = document["predictions"]
    assert (interleave["policy"], first["policy"]) == ("interleave", "first-touch")
    assert interleave["remote_share"] == pytest.approx(7 / 8)
    for prediction in (interleave, first):
        assert prediction["low"] <= prediction["relative"] <= prediction["high"]
        assert len(prediction["traffic_bytes"]) == len(prediction["nodes"]) == 8
    sums = [sum(map(sum, p["traffic_bytes"])) for p in (interleave, first)]
    assert sums[0] == pytest.approx(sums[1])
    assert interleave["phases"][0]["name"] == "run"


def test_a_plan_is_a_policy_with_its_own_threads(
    numascape: Numascape, trace_folder: Path, tmp_path: Path
) -> None:
    file = tmp_path / "plan.toml"
    write_plan(Plan(structures=(StructureRule("A", "bind", nodes=(3,)),)), file)
    _, output, _ = numascape("predict", trace_folder, "-m", "numa16", "-p", file, "--json")
    (found,) = json.loads(output)["predictions"]
    assert found["policy"] == str(file)
    assert sum(row[3] for row in found["traffic_bytes"]) > 0
    assert sum(row[0] + row[1] for row in found["traffic_bytes"]) == 0


def test_copies_are_named_with_their_memory(
    numascape: Numascape, tables: Tables, info: TraceInfo, tmp_path: Path
) -> None:
    # The first touchers fill A, and then both threads read all of it.
    one = tables["first_touch"].filter(pl.col("structure") == 0).select("structure", "page")
    both = one.join(pl.DataFrame({"thread": [0, 1]}), how="cross").with_columns(
        instance=0, phase=0, reads=512, writes=0
    )
    columns = tables["accesses"].columns
    tables["accesses"] = both.select(columns).cast(tables["accesses"].schema)
    folder = tmp_path / "read.numascape"
    write_trace(folder, tables, info)
    status, output, _ = numascape("predict", folder, "-m", "numa16", "-p", "replicate")
    assert status == 0
    size = one.height * 4 * 7
    assert f"replicate: a copy of A on each node costs {size} KiB more memory" in output
    _, output, _ = numascape("predict", folder, "-m", "numa16", "-p", "replicate", "--json")
    (found,) = json.loads(output)["predictions"]
    assert (found["remote_share"], found["extra_bytes"]) == (0.0, size * 1024)


def test_threads_are_placed_by_a_map_or_a_rule(
    numascape: Numascape, trace_folder: Path, tmp_path: Path
) -> None:
    file = tmp_path / "map"
    file.write_text("5\n5\n")
    for given, rows in ((file, {5}), ("scatter", {0, 1}), ("compact", {0, 4})):
        _, output, _ = numascape(
            "predict", trace_folder, "-m", "numa16", "-p", "interleave", "--threads-map", given,
            "--json",
        )  # fmt: skip
        traffic = json.loads(output)["predictions"][0]["traffic_bytes"]
        assert {i for i, row in enumerate(traffic) if sum(row) > 0} == rows


def test_a_measured_time_calibrates(numascape: Numascape, trace_folder: Path) -> None:
    _, output, _ = numascape(
        "predict", trace_folder, "-m", "numa16", "-p", "observed", "--calibrate", 7, "--json"
    )
    assert json.loads(output)["predictions"][0]["seconds"] == pytest.approx(7.0)


@pytest.mark.slow  # draws
@pytest.mark.parametrize("suffix", [".html", ".svg", ".png"])
def test_it_draws_a_picture(
    numascape: Numascape, trace_folder: Path, tmp_path: Path, suffix: str
) -> None:
    file = tmp_path / f"picture{suffix}"
    status, _, messages = numascape(
        "predict", trace_folder, "-m", "numa16", "-p", "interleave", "-o", file
    )
    assert status == 0
    assert messages.startswith(f"numascape: wrote {file}")
    assert file.stat().st_size < 1_000_000


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["-p", "fastest"], "there is no policy 'fastest'"),
        (["-p", "missing.toml"], "missing.toml"),
        (["-p", "replicate"], "has nothing to replicate: it has no structure that several threads"),
        (
            ["--threads-map", "round"],
            "is neither a file nor one of compact, scatter, numbered, anywhere",
        ),
        (["--calibrate", "0"], "more than 0 seconds"),
        (["--phase", "solve"], "without phases"),
        (["-m", "numa99"], "there is no machine 'numa99'"),
        (["-o", "x.txt"], "is drawn to files that end in one of"),
    ],
)
def test_mistakes_are_one_line(
    numascape: Numascape, trace_folder: Path, options: list[str], complaint: str
) -> None:
    status, _, messages = numascape("predict", trace_folder, "-m", "numa16", *options)
    assert status == 2
    assert complaint in messages
    assert messages.count("\n") == 1


def test_a_trace_without_counts_is_refused(
    numascape: Numascape, tables: Tables, info: TraceInfo, tmp_path: Path
) -> None:
    tables["accesses"] = tables["accesses"].clear()
    folder = tmp_path / "faults.numascape"
    write_trace(folder, tables, info)
    status, _, messages = numascape("predict", folder, "-m", "numa16")
    assert status == 2
    assert "has no accesses to predict from" in messages
