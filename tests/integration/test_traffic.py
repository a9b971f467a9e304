# SPDX-License-Identifier: Apache-2.0
"""The recorded lines from memory are the misses of the modelled cache."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import numascape
from integration.attaching import end, running
from integration.conftest import COMMAND, make

KERNELS = Path(__file__).parents[2] / "bench" / "kernels"
SMALL, LARGE, HELD = 256, 4096, 250  # lines, as in programs/traffic.c; the cache has 1024
CACHE = "64K,8,64"
BEGUN = 64  # lines that threads have begun or not finished when recording begins and ends
COLUMNS = ["memory_lines", "written_lines"]


@pytest.fixture(scope="module")
def traffic(record: Any) -> Any:
    return record("traffic", traffic=True, cache=CACHE)


def lines(recording: Any, structure: str) -> tuple[int, int]:
    rows = recording.rows(structure)
    return int(rows["memory_lines"].sum()), int(rows["written_lines"].sum())


STRUCTURES: dict[str, tuple[int, int]] = {
    "cold": (LARGE, 0),
    "warm": (SMALL, 0),  # it fits: the later passes find it
    "large": (3 * LARGE, 0),  # it does not fit: each line is evicted before it is read again
    "written": (2 * LARGE, 2 * LARGE),
    "modified": (LARGE, LARGE),
    "words": (LARGE, 0),
    "vectors": (LARGE, 0),
    "fields": (LARGE, 0),
    "from": (LARGE, 0),
    "to": (LARGE, LARGE),
    "forked": (2 * LARGE, 0),
    "shared": (2 * SMALL, 0),
    "again": (SMALL, 0),
    "chain": (2 * 2 * LARGE, 0),
}


@pytest.mark.parametrize("structure", STRUCTURES)
def test_lines_of_a_structure(traffic: Any, structure: str) -> None:
    assert lines(traffic, structure) == STRUCTURES[structure]


def test_selected_lanes_only(traffic: Any) -> None:
    if traffic.output != "avx2\n":
        pytest.skip("this processor has no AVX2")
    assert lines(traffic, "gathered") == (LARGE // 2, 0)
    assert lines(traffic, "masked") == (LARGE // 2, 0)


def test_lines_of_each_page(traffic: Any) -> None:
    rows = traffic.rows("steps").sort("page")
    assert dict(rows.select("page", "memory_lines").iter_rows()) == {p: 4 * p for p in range(1, 16)}


def test_each_thread_has_a_cache_of_its_own(traffic: Any) -> None:
    sums = traffic.rows("shared").group_by("thread").agg(pl.col("memory_lines").sum())
    assert sorted(sums["memory_lines"]) == [SMALL, SMALL]


def lines_in_phases(recording: Any, structure: str) -> dict[str, int]:
    rows = recording.rows(structure).join(recording.trace.phases, on="phase")
    return dict(rows.group_by("name").agg(pl.col("memory_lines").sum()).iter_rows())


def test_lines_belong_to_the_phase_that_fetched_them(traffic: Any) -> None:
    assert lines_in_phases(traffic, "again") == {"first": SMALL, "second": 0}


def test_lines_of_a_thread_that_waits_belong_to_the_phase_that_it_waited_in(traffic: Any) -> None:
    assert lines_in_phases(traffic, "held") == {"first": HELD}


def test_the_programs_vectors_are_kept(record: Any) -> None:
    recording = record("wide_vectors", traffic=True, cache=CACHE)
    flags = Path("/proc/cpuinfo").read_text().split()
    kinds = [kind for flag, kind in (("avx", "ymm"), ("avx512f", "zmm")) if flag in flags]
    expected = "".join(f"{kind} kept\n" for kind in kinds)
    assert (recording.status, recording.output) == (0, expected)


@pytest.mark.parametrize("mode", ["vfork", "vfork_fail"])
def test_children_of_vfork_have_a_cache(record: Any, mode: str) -> None:
    recording = record("starts", mode, traffic=True, cache=CACHE)
    assert (recording.output.splitlines()[-1], recording.status) == ("right", 7)


def test_lines_of_a_process_that_is_attached_to(programs: Path, attach: Any) -> None:
    # `source` and `target` are each as large as the cache: every line is fetched in every pass.
    with running(programs / "attached", "1") as process:
        for _ in range(2):
            recording = attach(process.pid, "--traffic", "--cache", CACHE)
            for structure, side in (("source", "reads"), ("target", "writes")):
                rows = recording.rows(structure)
                fetched = int(rows["memory_lines"].sum())
                assert fetched > LARGE
                assert abs(8 * fetched - int(rows[side].sum())) <= 8 * BEGUN
        assert end(process) == ("right\n", 42)


def test_accesses_are_those_without_traffic(record: Any, traffic: Any) -> None:
    # Totals may differ, because the C library reads the environment of each recording.
    plain = record("traffic")
    assert not set(COLUMNS) & set(plain.trace.accesses.columns)
    for name in STRUCTURES:
        assert plain.total(name) == traffic.total(name), name
    assert traffic.total("large") == (3 * LARGE, 0)
    assert traffic.trace.info.recorder.options["cache"] == {
        "bytes": 65536,
        "ways": 8,
        "line_bytes": 64,
    }


def cachegrind_misses(command: list[str | Path], cache: str) -> int:
    """Misses of data in the last level: those of reads and of writes."""
    size, ways, line = cache.split(",")
    finished = subprocess.run(
        [
            "valgrind",
            "--tool=cachegrind",
            "--cache-sim=yes",
            "--cachegrind-out-file=/dev/null",
            "--I1=32768,8,64",
            "--D1=16384,8,64",
            f"--LL={int(size.removesuffix('K')) * 1024},{ways},{line}",
            *map(str, command),
        ],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    found = re.search(r"LLd misses: +([\d,]+)", finished.stderr)
    assert found is not None
    return int(found[1].replace(",", ""))


@pytest.fixture(scope="module")
def kernels(request: pytest.FixtureRequest) -> Path:
    build: Path = request.config.cache.mkdir("kernels")
    make(
        KERNELS, f"BUILD={build}", *(f"{build}/{name}" for name in ("spmv", "fft", "pointer_chase"))
    )
    return build


@pytest.mark.parametrize(
    "command",
    [
        "matmul -n 112 -t 1 naive",
        "matmul -n 112 -t 2 block",
        "bucketsort -n 14 -m 12 -t 1 dynamic",
        "bucketsort -n 14 -m 12 -t 1 halves",
        "seismic -n 20 -s 4 -t 1 serial",
        "seismic -n 20 -s 4 -t 1 parallel",
        "spmv 5000 10",
        "fft 12 5",
        "pointer_chase 4096 20",
    ],
)
def test_agrees_with_cachegrind(
    examples: Path, kernels: Path, tmp_path: Path, command: str
) -> None:
    name, *arguments = command.split()
    program = next(path for path in (examples / name, kernels / name) if path.exists())
    expected = cachegrind_misses([program, *arguments], CACHE)
    trace = tmp_path / "run.numascape"
    options = ["-q", "--traffic", "--cache", CACHE, "-o", str(trace)]
    subprocess.run(
        [COMMAND, "record", *options, "--", program, *arguments],
        check=True,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert expected > 4000
    assert int(numascape.open(trace).accesses["memory_lines"].sum()) == pytest.approx(
        expected, rel=0.1
    )


def test_show_has_a_column_of_lines(traffic: Any) -> None:
    shown = subprocess.run(
        [COMMAND, "show", traffic.trace.path], capture_output=True, text=True, check=True
    ).stdout
    heading = next(line for line in shown.splitlines() if line.startswith("Structure"))
    assert heading.split()[5:7] == ["Share", "Lines"]
    row = next(line for line in shown.splitlines() if line.startswith("chain "))
    assert "16.4 k" in row


@pytest.mark.parametrize("recorder", ["compiled", "faults"])
def test_other_recorders_say_that_they_cannot(tmp_path: Path, recorder: str) -> None:
    run = subprocess.run(
        [
            COMMAND,
            "record",
            "--recorder",
            recorder,
            "--traffic",
            "--cache",
            CACHE,
            "--",
            "/bin/true",
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1
    assert f"the {recorder} recorder cannot count memory traffic" in run.stderr
    assert not list(tmp_path.iterdir())
