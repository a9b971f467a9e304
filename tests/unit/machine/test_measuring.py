# SPDX-License-Identifier: Apache-2.0
"""The probe's loops, its verdicts, and its notes about the host. No test asserts a time."""

from __future__ import annotations

import dataclasses
import random
import re
from pathlib import Path
from typing import Any

import pytest

from numascape import NumascapeError
from numascape.machine import Machine, MachineNode, measuring, open_machine, probing
from numascape.machine.benchmarks import bandwidth_csv, plan, run_series
from numascape.machine.conditions import conditions
from numascape.machine.measuring import ProbeRun, Setting, check_placement, run_probe
from numascape.machine.probing import Probe, ProbeRequest
from numascape.machine.sizes import sizes_between, thread_counts
from numascape.machine.sources import read_host
from numascape.machine.statistics import estimate

FAST: dict[str, object] = {"samples": 3, "sample_ms": 0.1}


def cpu() -> int:
    return read_host().usable_cpus[0]


@pytest.mark.program
def test_latency_is_measured_where_it_says() -> None:
    node = next(n for n in read_host().nodes if cpu() in n.cpus)
    found = run_probe("latency", cpu=cpu(), node=node.node, bytes=[4096, 1 << 20], **FAST)
    assert [point.at for point in found.points] == [4096, 1 << 20]
    assert all(len(point.samples) == 3 and min(point.samples) > 0 for point in found.points)
    check_placement(found, node.node, alone=len(read_host().nodes) == 1)


@pytest.mark.program
@pytest.mark.parametrize("operation", ["read", "write", "write-nt", "copy", "copy-nt", "stream",
                                       "stream-nt", "triad", "triad-nt"])  # fmt: skip
def test_every_loop_runs(operation: str) -> None:
    found = run_probe("bandwidth", operation=operation, cpus=[cpu()], bytes=[4096, 65536], **FAST)
    assert [len(point.samples) for point in found.points] == [3, 3]


@pytest.mark.program
def test_mistakes_are_one_line() -> None:
    for kind, options, reason in [
        ("latency", {"cpu": 60000, "node": 0, "bytes": 64}, "cannot run on CPU 60000"),
        ("latency", {"cpu": cpu(), "node": 900, "bytes": 64}, "mbind"),
        ("bandwidth", {"operation": "guess", "cpus": [0], "bytes": 64}, "unknown operation: guess"),
        ("latency", {"cpu": "x", "node": 0, "bytes": 64}, "not a number: x"),
    ]:
        with pytest.raises(NumascapeError, match=f"the probe failed: .*{reason}") as refused:
            run_probe(kind, **options)  # type: ignore[arg-type]
        assert "\n" not in str(refused.value)


def setting(**changes: object) -> ProbeRun:
    values = {"instructions": "avx2", "bound": True, "known": True, "pages": 10, "elsewhere": 0,
              "huge_bytes": 0, "all_bytes": 1}  # fmt: skip
    return ProbeRun(Setting(**{**values, **changes}), ())  # type: ignore[arg-type]


def test_memory_in_the_wrong_place_is_refused() -> None:
    check_placement(setting(), 1, alone=False)
    with pytest.raises(NumascapeError, match="3 of 10 pages were not on node 1"):
        check_placement(setting(elsewhere=3), 1, alone=False)
    for change in ({"known": False}, {"bound": False}):
        with pytest.raises(NumascapeError, match="not permitted"):
            check_placement(setting(**change), 1, alone=False)
        check_placement(setting(**change), 0, alone=True)


def test_uncertain_figures_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def wild(kind: str, **options: object) -> ProbeRun:
        samples = tuple(float(10 + 9 * (i % 2)) for i in range(9))
        return ProbeRun(setting().setting, (measuring.Point(1.0, samples, 0, 0),))

    monkeypatch.setattr(probing, "run_probe", wild)
    probe = Probe(read_host(), ProbeRequest(quick=True, spread=0.05))
    said = r"latency from node 0 to node 0 is uncertain by \d+\.\d%"
    with pytest.raises(NumascapeError, match=said):
        next(probe.steps()).run()


def test_uncertain_points_of_a_curve_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def wild(kind: str, **options: Any) -> ProbeRun:
        sizes = options["bytes"] if isinstance(options["bytes"], list) else [options["bytes"]]
        wide = [4.0 if at == sizes[0] and len(sizes) > 1 else 0.0 for at in sizes]
        points = [
            measuring.Point(float(at), tuple(10 + width * (i % 2) for i in range(9)), 0, 0)
            for at, width in zip(sizes, wide, strict=True)
        ]
        return ProbeRun(setting(huge_bytes=1).setting, tuple(points))

    monkeypatch.setattr(probing, "run_probe", wild)
    machine = Machine("a", (MachineNode(0, (0,), 1 << 36),), cores=((0,),))
    probe = Probe(machine, ProbeRequest(quick=True))
    for step in probe.steps():
        step.run()
    result = probe.result()
    assert result.latency_by_size[0].points[0][0] == 8192
    assert len(result.notes) == 1
    assert re.match(
        r"1 of \d+ values are left out of the latencies by size of node 0: ", result.notes[0]
    )


def test_a_node_without_cpus_is_measured_as_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def even(kind: str, **options: Any) -> ProbeRun:
        asked.append((kind, options.get("node", options.get("nodes"))))
        return ProbeRun(setting(huge_bytes=1).setting, (measuring.Point(1.0, (5.0,) * 9, 5.0, 0),))

    monkeypatch.setattr(probing, "run_probe", even)
    nodes = (MachineNode(0, (0, 1), 1 << 36), MachineNode(2, (), 1 << 36, "CXL"))
    probe = Probe(Machine("a", nodes, cores=((0,), (1,))), ProbeRequest(quick=True))
    for step in probe.steps():
        step.run()
    result = probe.result()
    assert result.latencies[0].values == ((5.0, 5.0), (None, None))
    assert result.bandwidths[0].values == ((5.0, 5.0), (None, None))
    assert result.controllers[0].values == (5.0, 5.0)
    assert ("latency", 2) in asked
    assert ("bandwidth", [2, 2]) in asked


def test_a_probed_machine_keeps_what_was_known(monkeypatch: pytest.MonkeyPatch) -> None:
    def even(kind: str, **options: object) -> ProbeRun:
        sizes: Any = options.get("delays") or options["bytes"]
        ats: list[int] = list(sizes) if isinstance(sizes, list | tuple) else [sizes]
        points = tuple(measuring.Point(float(at) + 1, (80.0,) * 9, 5.0, 0) for at in ats)
        return ProbeRun(setting(huge_bytes=1).setting, points)

    monkeypatch.setattr(probing, "run_probe", even)
    machine = open_machine("xeon-6980p-snc3")
    nodes = tuple(MachineNode(n.node, n.cpus, 1 << 36) for n in machine.nodes)
    probe = Probe(dataclasses.replace(machine, nodes=nodes), ProbeRequest(date="2026-11-21"))
    for step in probe.steps():
        step.run()
    result = probe.result()
    assert [m.provenance.kind for m in result.latencies] == ["measured", "published"]
    assert result.latencies[0].values == ((80.0,) * 6,) * 6
    assert {m.operation for m in result.bandwidths} >= {"read", "copy-nt", "triad"}
    assert len(result.controllers[0].values) == 6
    assert [int(x) for x, _ in result.scaling[0].points][:4] == [1, 2, 4, 8]


def test_an_interval_holds_the_median_as_often_as_it_says() -> None:
    generator = random.Random(1)
    for count in (9, 15):
        inside = 0
        for _ in range(2000):
            known = estimate([generator.expovariate(1) for _ in range(count)])
            assert known.low <= known.median <= known.high
            inside += known.low <= 0.6931 <= known.high
        assert 0.95 <= inside / 2000 <= 0.99


def test_few_samples_are_known_by_their_range() -> None:
    known = estimate([3.0, 1.0, 2.0])
    assert (known.median, known.low, known.high, known.half_width) == (2.0, 1.0, 3.0, 1.0)
    assert estimate([5.0]).spread == 0


def test_sizes_and_threads_double() -> None:
    assert sizes_between(4096, 20000, 1) == [4096, 8192, 16384, 19968]
    assert sizes_between(64, 512, 2) == [64, 128, 256, 320, 512]  # whole lines, each once
    assert thread_counts(12, [6, 6]) == [1, 2, 4, 6, 8, 12]


def test_benchmarks_use_one_thread_per_core_on_one_socket_and_all() -> None:
    machine = open_machine("package:2 core:4 pu:2")
    reference, *series = plan(machine, None, None)
    assert (reference.serial, reference.cpus, reference.threads) == (True, (0,), 1)
    assert not any(one.serial for one in series)
    assert [(s.threads, s.sockets, s.touch) for s in series] == [
        (1, 1, "parallel"), (2, 1, "parallel"), (4, 1, "parallel"),
        (2, 2, "parallel"), (2, 2, "serial"), (4, 2, "parallel"), (4, 2, "serial"),
        (8, 2, "parallel"), (8, 2, "serial"),
    ]  # fmt: skip
    assert series[2].cpus == (0, 2, 4, 6)
    assert series[3].cpus == (0, 8)
    with pytest.raises(NumascapeError, match="3 sockets are wanted, but there are only 2"):
        plan(machine, 3, None)


@pytest.mark.program
def test_the_serial_reference_is_measured_without_threads() -> None:
    machine = open_machine(None)
    reference = plan(machine, 1, 1)[0]
    points = list(run_series(machine, "sum", reference, [4096, 16384]))
    assert [point.bytes for point in points] == [4096, 16384]
    assert all(point.gb_s > 0 for point in points)
    rows = bandwidth_csv("sum", points).splitlines()
    assert rows[0].endswith(",run")
    assert all(row.endswith(",serial") for row in rows[1:])
    with pytest.raises(NumascapeError, match="--alone is for one CPU"):
        run_probe("bandwidth", operation="read", cpus=[0, 0], alone="yes", bytes=[4096])


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_what_disturbs_is_said(tmp_path: Path) -> None:
    assert conditions(tmp_path, 0) == []
    frequency = tmp_path / "sys/devices/system/cpu/cpu0/cpufreq"
    write(frequency / "scaling_governor", "powersave\n")
    write(tmp_path / "sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n")
    write(tmp_path / "proc/sys/kernel/numa_balancing", "1\n")
    write(tmp_path / "proc/cpuinfo", "flags\t: fpu hypervisor\n")
    said = " ".join(conditions(tmp_path, 0))
    for word in ("powersave", "huge pages are off", "NUMA balancing", "virtual machine"):
        assert word in said
    write(frequency / "scaling_governor", "performance\n")
    write(frequency / "cpuinfo_max_freq", "3000000\n")
    write(frequency / "scaling_max_freq", "2000000\n")
    assert "limited to 2000 of 3000 MHz" in conditions(tmp_path, 0)[0]
