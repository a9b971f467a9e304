# SPDX-License-Identifier: Apache-2.0
"""A small trace made by hand, markers for needs of tests, and their order."""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import HealthCheck, settings

from interrupts import receive_interrupts
from numascape.machine import Machine, MachineNode
from numascape.trace import TraceInfo, write_trace
from numascape.trace.info import Host, Process, Recorder, Times, Totals
from numascape.trace.schema import SCHEMAS
from processor_time import ProcessorTimes
from quick_tests import QuickTests

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import Scheduling

Tables = dict[str, pl.DataFrame]

# The needs of the tests of a folder or file besides Python; the longest matching path counts.
_NEEDS = {
    "tests/vm/": "guest",
    "tests/browser/": "browser",
    "tests/runtime/": "runtime",
    "tests/behaviour/": "program",
    "tests/behaviour/test_runtimes.py": "runtime",
    "tests/behaviour/test_servers.py": "runtime",
    "tests/integration/": "program",
    "tests/fuzz/": "program",
    "tests/quality/": "compiler",
    "tests/unit/native/": "compiler",
    "tests/unit/figures/test_figures.py": "slow",
    "tests/unit/figures/test_plot.py": "slow",
    "tests/unit/machine/test_snapshots.py": "program",
    "tests/unit/containers/": "compiler",
    "tests/unit/naming/test_symbol_cache.py": "compiler",
}
# The first test of a guest waits until the guest has ended, so it needs more time than the guest.
_GUEST_LIMIT_S = 1800
_NEVER_SKIPPED_IN_CI = {"guest", "browser", "runtime"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what each test needs, and begin with the guests: they take longest."""
    for item in items:
        fitting = [path for path in _NEEDS if item.nodeid.startswith(path)]
        if fitting:
            item.add_marker(_NEEDS[max(fitting, key=len)])
        if item.get_closest_marker("guest"):
            item.add_marker(pytest.mark.timeout(_GUEST_LIMIT_S))
    items.sort(key=lambda item: not item.nodeid.startswith("tests/vm/"))


def pytest_collection_finish() -> None:
    """Let the garbage collector skip the objects that stay until the end: modules and tests."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    gc.unfreeze()


def pytest_configure(config: pytest.Config) -> None:
    receive_interrupts()
    config.pluginmanager.register(QuickTests())
    if config.getoption("durations"):  # measuring takes a millisecond of each test
        config.pluginmanager.register(ProcessorTimes())


# On a busy machine, examples may take any time. In CI, Hypothesis chooses the same ones each time.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling:
    from distribution import FilesTogether

    config.option.loadscopereorder = False  # in the order from above
    return FilesTogether(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI, a missing guest, browser or runtime is an error, not a skipped test."""
    report = yield
    needs = {marker.name for marker in item.iter_markers()} & _NEVER_SKIPPED_IN_CI
    if report.skipped and needs and os.environ.get("CI") == "true":
        report.outcome = "failed"
        report.longrepr = f"skipped in CI, which must have the {needs.pop()}: {report.longrepr}"
    return report


def _frame(table: str, rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=SCHEMAS[table], orient="row")


def _tables() -> Tables:
    """Two threads. A: thread 0 writes both pages, thread 1 reads them. B: thread 1 alone."""
    fill, add = ("fill", "sum.c", 12), ("add", "sum.c", 31)
    heap = (["fill (sum.c:10)", "main (sum.c:20)"], True)
    return {
        "structures": _frame(
            "structures",
            [
                (0, 0, "A", "heap", 8192, 2, 1, "sum", "fill", "sum.c", 10, *heap),
                (1, 0, "B", "global", 100, 1, 1, "sum", "", "sum.c", 3, [], True),
                (2, 0, "unused", "global", 8, 1, 1, "sum", "", "sum.c", 4, [], True),
            ],
        ),
        "accesses": _frame(
            "accesses",
            [
                (0, 0, 0, 0, 0, 0, 512),
                (0, 0, 1, 0, 0, 0, 512),
                (0, 0, 0, 1, 0, 512, 0),
                (0, 0, 1, 1, 0, 400, 0),
                (1, 0, 0, 1, 0, 30, 34),
            ],
        ),
        "first_touch": _frame(
            "first_touch",
            [
                (0, 0, 0, 0, 0, 0, 1000, "fill", "sum.c", 12),
                (0, 0, 1, 0, 0, 1, 2000, "fill", "sum.c", 12),
                (1, 0, 0, 1, 0, 2, 3000, "add", "sum.c", 30),
            ],
        ),
        "threads": _frame(
            "threads",
            [(0, 0, 77, "sum", 0, 9000, [0, 1], [0]), (1, 0, 78, "sum", 500, 8000, [1], [0])],
        ),
        "placement": _frame("placement", [(0, 0, 0, 0), (0, 0, 1, 0), (1, 0, 0, 0)]),
        "phases": _frame("phases", [(0, "run", "", 0, 0, 9000, 1)]),
        "phase_spans": _frame("phase_spans", [(0, 0, 9000)]),
        "source_lines": _frame(
            "source_lines",
            [
                (0, 0, "fill", "sum.c", 12, 0, 1024),
                (0, 0, "add", "sum.c", 31, 912, 0),
                (1, 0, "add", "sum.c", 31, 30, 34),
            ],
        ),
        "transfers": _frame(
            "transfers",
            [
                (0, 0, 0, -1, 0, 1, 0, "", "", 0, "", "", 0, 0, 0, 64, 0, 0, 0),
                (0, 0, 1, 5, 0, 1, 0, *fill, *add, 255, 65280, 9, 8, 7, 2),
            ],
        ),
        "data_sources": _frame("data_sources", [(0, 0, "L3 hit", 3, 1, 2, 90)]),
        "kernel_accesses": _frame("kernel_accesses", [(0, 0, 1, 1, 0, 0, 4096)]),
        "instructions": _frame("instructions", [(0, 0, 5000), (1, 0, 4000)]),
        "instances": _frame("instances", [(0, 0, 0x7F00_0000_1000, 8192), (1, 0, 0x40_4010, 100)]),
        "huge_page_advice": _frame("huge_page_advice", [(0, 0, True)]),
        **_sampled(),
    }


def _sampled() -> Tables:
    """Both threads use one line of A, in functions that main calls."""
    return {
        "burst_groups": _frame("burst_groups", [(0, 0, 0, 0, 0, 512, 4), (0, 1, 0, 7, 912, 0, 3)]),
        "page_bursts": _frame("page_bursts", [(0, 0, 0, 0, 0, 0, 512), (0, 0, 1, 1, 0, 7, 912)]),
        "seen_lines": _frame(
            "seen_lines",
            [(0, 0, 1, 5, 0, 0, 32, 255, 64, 64, 64), (0, 0, 1, 5, 1, 0, 32, 65280, 50, 0, 0)],
        ),
        "call_paths": _frame(
            "call_paths",
            [
                (0, -1, "main", "sum.c", 20, "sum"),
                (1, 0, "fill", "sum.c", 12, "sum"),
                (2, 0, "add", "sum.c", 31, "sum"),
            ],
        ),
        "path_accesses": _frame(
            "path_accesses",
            [(0, 0, 0, 0, 0, 1, 0, 12), (0, 0, 1, 1, 0, 2, 8, 0), (1, 0, 0, 1, 0, 2, 3, 0)],
        ),
    }


def _info() -> TraceInfo:
    return TraceInfo(
        program="/home/ada/sum",
        arguments=("1 000", "-v"),
        recorder=Recorder("binary", "0.1.0", {"stack": True}),
        host=Host("lovelace", "6.1.0", 2, 1, 1 << 34),
        machine=Machine("lovelace", (MachineNode(0, (0, 1), 1 << 34),)),
        page_size=4096,
        started="2026-11-20T12:00:00+00:00",
        times=Times(1.5, 0.3),
        exit_status=0,
        processes=(Process(0, 77, "/home/ada/sum"),),
        totals=Totals(942, 1058, 3, 2),
        attributed_share=0.987,
        unseen=("the kernel's own accesses",),
    )


@pytest.fixture
def tables() -> Tables:
    return _tables()


@pytest.fixture
def info() -> TraceInfo:
    return _info()


@pytest.fixture(scope="session")
def small_trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small trace on disk, which no test may change."""
    folder = tmp_path_factory.mktemp("small") / "sum.numascape"
    write_trace(folder, _tables(), _info())
    return folder


@pytest.fixture
def trace_folder(tmp_path: Path, small_trace: Path) -> Path:
    """A copy of the small trace."""
    return Path(shutil.copytree(small_trace, tmp_path / small_trace.name))


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep symbols in a folder of the tests, and not in that of the user."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMASCAPE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def _no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Print with the width of a pipe, because xdist sets a width in its processes."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def numascape(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run a command line in this process: exit status, standard output, standard error."""
    from numascape.cli.entry import run

    def command(*arguments: object) -> tuple[int, str, str]:
        status = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return command
