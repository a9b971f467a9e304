# SPDX-License-Identifier: Apache-2.0
"""The verbs of `numascape host`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from numascape.cli.entry import run
from numascape.figures.drawing import save
from numascape.figures.experiment_picture import draw_experiment
from numascape.host.experiment import ExperimentPlan, ExperimentResult, experiment_csv
from numascape.host.triads import Triad
from numascape.plan import Plan, StructureRule, ThreadRule
from numascape.plan.document import write_plan
from synthetic.page_cache import page_cache_results
from synthetic.pattern import Pattern
from synthetic.write import write_pattern
from unit.host.conftest import MIB
from unit.host.conftest import add_node as add_node
from unit.host.conftest import two_nodes as two_nodes


def test_show_draws_what_fills_the_nodes(
    two_nodes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["host", "show", "--root", str(two_nodes)]) == 0
    printed = capsys.readouterr().out.splitlines()
    # A letter for each 204.8 MiB, with rounded ends: programs end at 7.5, shared at 12.5, dirty at
    # 15.
    bar = printed[0].split("[")[1].split("]")[0]
    assert len(bar) == 40
    assert bar.strip(".") == "pppppppp" + "ssss" + "ddd" + "m" + "c" * 16 + "kk" + "o"
    assert printed[1].count(".") >= 38


def test_show_writes_json_and_prometheus(
    two_nodes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["host", "show", "--json", "--root", str(two_nodes)]) == 0
    assert json.loads(capsys.readouterr().out)["nodes"][1]["node"] == 1
    file = tmp_path / "numascape.prom"
    assert run(["host", "show", "--prometheus", str(file), "--root", str(two_nodes)]) == 0
    assert 'numascape_node_free_bytes{node="0"} 1073741824\n' in file.read_text()


def test_prometheus_reads_the_metrics(
    two_nodes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from prometheus_client.parser import text_string_to_metric_families

    file = tmp_path / "numascape.prom"
    seen: list[dict[tuple[str, str], float]] = []

    def scrape(_seconds: float) -> None:
        """Read the file instead of waiting, and end after three times."""
        families = list(text_string_to_metric_families(file.read_text()))
        assert all(family.documentation for family in families)
        assert {f.type for f in families if f.name.endswith("_bytes")} == {"gauge"}
        assert {f.type for f in families if f.name.endswith("_pages")} == {"counter"}
        samples = [sample for family in families for sample in family.samples]
        seen.append({(s.name, s.labels.get("node", "")): s.value for s in samples})
        counters = two_nodes / "sys/devices/system/node/node0/numastat"
        counters.write_text(counters.read_text().replace("local_node 90", "local_node 95"))
        if len(seen) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", scrape)
    words = ["host", "show", "--watch", "1", "--prometheus", str(file), "--root", str(two_nodes)]
    assert run(words) == 130
    first, last = seen[0], seen[-1]
    assert first["numascape_node_free_bytes", "0"] == 1024 * MIB
    assert first["numascape_node_cache_bytes", "0"] == 4096 * MIB
    assert first["numascape_node_numa_local_node_pages_total", "0"] == 90
    assert last["numascape_node_numa_local_node_pages_total", "0"] == 95
    assert first["numascape_node_numa_other_node_pages_total", "1"] == 30


def test_check_exits_with_its_verdict(two_nodes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = ["--root", str(two_nodes)]
    assert run(["host", "check", "--bytes-per-node", "512M", *root]) == 0
    assert "node 0: 512 MiB would be local" in capsys.readouterr().out
    assert run(["host", "check", "--bytes-per-node", "2G", "--nodes", "0", *root]) == 1
    printed = capsys.readouterr().out
    assert "would go to node 1" in printed
    assert "clean page cache; fix: numascape host" in printed
    uneven = ["host", "check", "--bytes-per-node", "1M,512M", "--nodes", "1,0", *root]
    assert run(uneven) == 0
    printed = capsys.readouterr().out
    assert "node 0: 512 MiB would be local" in printed
    assert "node 1: 1 MiB would be local" in printed
    assert run(["host", "check", "--bytes-per-node", "2G", "--json", *root]) == 1
    assert json.loads(capsys.readouterr().out)["nodes"][0]["spilled"] > 0


def plan(file: Path, *structures: StructureRule) -> str:
    write_plan(Plan((ThreadRule((1,), order="0-3", together=True),), structures), file)
    return str(file)


def test_check_asks_for_what_a_plan_puts_on_each_node(
    two_nodes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = plan(
        tmp_path / "plan.toml",
        StructureRule("a", "parts", nodes=(0, 1), parts=(0, 0.25, 1), bytes=1 << 30),
        StructureRule("b", "first-touch", bytes=1 << 30),
        StructureRule("c", "weighted-interleave", nodes=(0, 1), weights=(3, 1), bytes=2 << 30),
        StructureRule("d", "preferred", nodes=(1, 0), bytes=1 << 20),
    )
    root = ["--json", "--root", str(two_nodes)]
    assert run(["host", "check", "--plan", file, *root]) == 1
    wanted = [share["wanted"] for share in json.loads(capsys.readouterr().out)["nodes"]]
    assert wanted == [(256 + 1536) << 20, (768 + 1024 + 512 + 1) << 20]


def test_check_takes_a_plan_to_a_run_of_another_size(
    two_nodes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pattern = Pattern("program", 4)
    field = pattern.structure("field", 1000)
    pattern.access(field, np.arange(1000), 0, 1, 1)
    pattern.touch(field, np.arange(1000), 0)
    write_pattern(pattern, tmp_path / "run.numascape")
    rule = StructureRule("field", "parts", nodes=(0, 1), parts=(0, 0.25, 1))
    file = plan(tmp_path / "plan.toml", rule)
    root = ["--json", "--root", str(two_nodes)]
    like = ["--like", str(tmp_path / "run.numascape")]
    assert run(["host", "check", "--plan", file, *like, *root]) == 0
    wanted = [share["wanted"] for share in json.loads(capsys.readouterr().out)["nodes"]]
    assert wanted == [250 * 4096, 750 * 4096]


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        (StructureRule("a", "bind", nodes=(0,)), "does not say how large its structures are"),
        (
            StructureRule("a", "bind", nodes=(7,), bytes=1 << 20),
            "node 7, which this machine does not have",
        ),
    ],
)
def test_plans_that_say_nothing_of_this_host_are_one_line(
    two_nodes: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    rule: StructureRule,
    reason: str,
) -> None:
    file = plan(tmp_path / "plan.toml", rule)
    assert run(["host", "check", "--plan", file, "--root", str(two_nodes)]) == 2
    assert reason in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["show", "--json", "--watch", "1"], "--json cannot be used with"),
        (["show", "--root", "nowhere"], "has no information about memory"),
        (["check"], "give one of --bytes-per-node 8G, --like TRACE and --plan FILE"),
        (["check", "--bytes-per-node", "much"], "is not an amount of memory"),
        (["check", "--bytes-per-node", "1G,2G"], "has 2 amounts: give --nodes with as many"),
        (["check", "--bytes-per-node", "1G,2G", "--nodes", "0"], "has 2 amounts: give --nodes"),
        (["check", "--bytes-per-node", "1", "--nodes", "99"], "there is no node 99"),
        (["check", "--like", "nowhere"], "nowhere"),
        (["check", "--plan", "nowhere"], "cannot read nowhere"),
        (["check", "--plan", "p", "--nodes", "0"], "traces and plans have their own nodes"),
        (["files", "/nowhere"], "/nowhere: No such file"),
        (["files", "--node", "99"], "there is no node 99"),
        (["drop", "--files", "/nowhere"], "/nowhere: No such file"),
        (["sweep", "--node", "99"], "there is no node 99"),
        (["sweep", "--bytes", "x"], "is not an amount of memory"),
        (["experiment", "--folder", "/nowhere"], "is not a folder"),
        (["experiment", "--ways", "magic"], "there is no way 'magic'"),
        (["experiment", "--sizes", "x"], "is not an amount of memory"),
        (["check", "--nope"], "see: numascape host check --help"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["host", *arguments]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if "error" in line]
    assert len(lines) == 1
    assert reason in lines[0]


def test_only_root_drops_everything(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert run(["host", "drop"]) == 2
    assert "only root may drop the cache of all users" in capsys.readouterr().err


@pytest.mark.program
def test_a_program_runs_as_itself() -> None:
    command = [sys.executable, "-m", "numascape", "run", "--local-strict", "--"]
    result = subprocess.run([*command, "sh", "-c", "grep -m1 bind /proc/self/numa_maps; exit 7"],
                            capture_output=True, text=True, check=False)  # fmt: skip
    assert result.returncode == 7
    if Path("/proc/self/numa_maps").exists():
        assert "bind:" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [([], "no program given"), (["--local-strict", "--", "/nowhere"], "/nowhere cannot be run"),
     (["--", "/nowhere"], "/nowhere cannot be run")],
)  # fmt: skip
def test_a_program_that_cannot_run_is_one_line(
    arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", *arguments]) == 2
    assert reason in capsys.readouterr().err


def test_watching_shows_rates_until_interrupted(
    two_nodes: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", sleep)
    assert run(["host", "show", "--watch", "3", "--root", str(two_nodes)]) == 130
    assert slept == [3, 3]
    printed = capsys.readouterr().out
    assert printed.count("pages since the start") == printed.count("pages/s since") == 1


def test_the_experiments_results_are_drawn(tmp_path: Path) -> None:
    triads = [Triad((100.0 + size, 200.0), {0: 3, 1: 1}, 0.75) for size in range(3)]
    results = [
        ExperimentResult(size << 30, way, triad, {0: 1, 1: 2}, (5, 7))
        for size, triad in enumerate(triads)
        for way in ("first touch", "strict")
    ]
    save(draw_experiment(results, ""), tmp_path / "plot.svg")
    text = (tmp_path / "plot.svg").read_text()
    for label in ("first touch", "strict", "share of local pages", "2 GiB"):
        assert label in text
    rows = experiment_csv(results).splitlines()
    assert rows[0].endswith(
        "local_share,pages_freed_by_kswapd,pages_freed_by_program,"
        "pages_node0,pages_node1,cache_bytes_node0,cache_bytes_node1"
    )
    assert rows[1] == "0,first touch,150,100,200,0.7500,5,7,3,1,1,2"
    assert len(rows) == 7


@pytest.mark.slow  # draws
def test_the_experiment_writes_a_table_a_plot_and_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known = {(one.size, one.way): one for one in page_cache_results()}
    monkeypatch.setattr(
        "numascape.host.experiment.measure_point", lambda _plan, size, way: known[size, way]
    )
    words = ["host", "experiment", "--sizes", "0,4G", "--ways", "first touch,swept", "--quiet"]
    words += ["--fill", "0.001", "--folder", str(tmp_path), "-o", str(tmp_path / "cache")]
    assert run(words) == 0
    printed = capsys.readouterr()
    assert "first touch" in printed.out
    assert f"wrote {tmp_path}/cache.html" in printed.err
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "cache.csv",
        "cache.html",
        "cache.svg",
    ]
    assert len((tmp_path / "cache.csv").read_text().splitlines()) == 1 + 4


@pytest.mark.parametrize(("virtual", "points", "samples"), [(True, 5 * 2, 1), (False, 9 * 2, 5)])
def test_the_experiment_is_shorter_in_a_virtual_machine(
    virtual: bool, points: int, samples: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = page_cache_results()[0]
    measured: list[ExperimentPlan] = []

    def measure(plan: ExperimentPlan, _size: int, _way: str) -> ExperimentResult:
        measured.append(plan)
        return known

    monkeypatch.setattr("numascape.host.experiment.measure_point", measure)
    notes = ["this is a virtual machine: others may use it"] if virtual else []
    monkeypatch.setattr("numascape.machine.conditions.conditions", lambda _root: notes)
    words = ["host", "experiment", "--ways", "first touch,strict", "--fill", "0.001", "--quiet"]
    assert run([*words, "--folder", str(tmp_path)]) == 0
    assert len(measured) == points
    assert measured[0].samples == samples
    assert measured[0].sizes[0] == 0
    assert len(set(measured[0].sizes)) == points // 2


def test_check_asks_for_as_much_as_a_trace_had(
    trace_folder: Path, two_nodes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["host", "check", "--like", str(trace_folder), "--json"]
    assert run([*words, "--root", str(two_nodes)]) == 0
    (node,) = json.loads(capsys.readouterr().out)["nodes"]
    # Its three pages of 4 KiB were on node 0.
    assert (node["node"], node["wanted"], node["local"]) == (0, 3 * 4096, 3 * 4096)
    assert run([*words, "--nodes", "0"]) == 2
    assert "traces and plans have their own nodes" in capsys.readouterr().err
