# SPDX-License-Identifier: Apache-2.0
"""Programs, recorded once in a guest with five NUMA nodes.

Nodes 0 to 3 have a CPU of their number; node 3 has a second one, CPU 4, which is taken offline;
node 4 has memory only.
"""

import compileall
import json
import shlex
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import numascape
from integration.conftest import make
from numascape.installation import installed_file
from numascape.recorders.record import convert_session
from numascape.recording.session import read_session
from numascape.trace import Trace
from vm.emulated_polars import NoPolarsError, emulated_polars
from vm.guest import GuestError, GuestNode, run_in_guest, why_impossible
from vm.kernel import NoKernelError, guest_kernel
from vm.live_guest import TESTS, Seen, seen_in_guest

PROGRAMS = Path(__file__).parent / "programs"
SCRIPTS = Path(sysconfig.get_path("scripts"))
OBSERVE = Path(__file__).with_name("observe.py")
OBSERVE_BALANCING = Path(__file__).with_name("observe_balancing.py")
NODES = [GuestNode(cpus, 384) for cpus in (1, 1, 1, 2, 0)]
WORK = ("still", "moved", "full", "bound")  # the ways of work.c


@dataclass(frozen=True)
class GuestRun:
    """The trace, and the output of the program and of the kernel."""

    trace: Trace
    # The nodes that move_pages reported to the program, by array, if it asked.
    kernel_nodes: dict[str, list[int]] = field(default_factory=dict)

    def rows(self, table: str, structure: str) -> pl.DataFrame:
        """Return the rows of a table that belong to the structure of this name."""
        named = self.trace.structures.filter(pl.col("name") == structure)
        assert named.height == 1, self.trace.structures["name"].to_list()
        rows: pl.DataFrame = getattr(self.trace, table)
        return rows.filter(pl.col("structure") == named["structure"].item()).sort("page")

    def nodes(self, structure: str) -> dict[int, int]:
        """Return the node of each page, as recorded."""
        return dict(self.rows("placement", structure).select("page", "node").iter_rows())

    def first_threads(self, structure: str) -> dict[int, int]:
        """Return the thread that touched each page first, as recorded."""
        return dict(self.rows("first_touch", structure).select("page", "thread").iter_rows())


Boot = Callable[..., None]


@pytest.fixture(scope="session")
def boot() -> Boot:
    """Return boot(nodes, job, folder, firmware=None, disk=None), see run_in_guest.

    If no guest can run, tests are skipped. If a guest fails, they fail.
    """
    reason = why_impossible()
    if reason is not None:
        pytest.skip(f"no guest: {reason}")
    try:
        kernel = guest_kernel()
    except NoKernelError as error:
        pytest.skip(f"no guest: {error}")
    # Guests compile slowly, and cannot keep the result.
    compileall.compile_dir(Path(numascape.__file__).parent, quiet=2)

    def run(nodes: Sequence[GuestNode], job: str, folder: Path, **options: Any) -> None:
        try:
            run_in_guest(nodes, job, folder, kernel, **options)
        except GuestError as error:
            pytest.fail(str(error), pytrace=False)

    return run


@pytest.fixture(scope="session")
def guest_folder(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, boot: Boot
) -> Path:
    """Boot and record; return the folder with the recordings and, in `output`, what was printed."""
    build = request.config.cache.mkdir("guest-programs")
    make(PROGRAMS, f"BUILD={build}", f"{build}/placements", f"{build}/balanced")
    # An emulated processor translates DynamoRIO's code again, which takes ten seconds for a run.
    parts = " ".join(str(part) for part in installed_file("_compiler").iterdir())
    counting = [f"COUNTING_CC={SCRIPTS / 'numascape-cc'}", f"COUNTING_PARTS={parts}"]
    make(PROGRAMS, f"BUILD={build}", *counting, f"{build}/work")
    folder = tmp_path_factory.mktemp("guest")
    programs: dict[str, list[Path | str]] = {"placements": [build / "placements"]}
    programs |= {how: [build / "work", how] for how in WORK}
    lines = [
        "set -e",
        "echo 0 >/sys/devices/system/cpu/cpu4/online",
        shlex.join(observing(programs)),
        f"export PYTHONPATH={shlex.quote(str(TESTS))}",
        shlex.join([sys.executable, str(OBSERVE_BALANCING), str(build / "balanced")]),
    ]
    boot(NODES, "\n".join(lines), folder)
    return folder


def observing(programs: Mapping[str, Sequence[Path | str]]) -> list[str]:
    """The command that records programs with arguments in a guest, each under its name."""
    commands = [
        shlex.join([f"{name}.numascape", *map(str, program)]) for name, program in programs.items()
    ]
    return [sys.executable, str(OBSERVE), *commands]


@pytest.fixture(scope="session")
def guest_run(guest_folder: Path) -> GuestRun:
    """The recording of placements.c."""
    trace = converted(guest_folder, "placements")
    return GuestRun(trace, kernel_nodes((guest_folder / "output").read_text()))


def converted(folder: Path, name: str) -> Trace:
    """The trace of the recording NAME from a guest, without the CPU time.

    An emulated processor needs much time for an access, so the run would seem to compute.
    """
    session = next(folder.glob(f"{name}.numascape.recording-*"))
    trace = folder / f"{name}.numascape"
    convert_session(read_session(session), trace, lambda _: None)
    info = json.loads((trace / "trace.json").read_text())
    info["times"]["cpu_s"] = None
    (trace / "trace.json").write_text(json.dumps(info))
    return numascape.open(trace)


@pytest.fixture(scope="session")
def balanced_run(guest_folder: Path) -> GuestRun:
    """Page faults, while the kernel balanced."""
    return GuestRun(converted(guest_folder, "balanced"))


@pytest.fixture(scope="session")
def unbalanced_run(guest_folder: Path) -> GuestRun:
    """The same program's page faults, while the kernel did not balance."""
    return GuestRun(converted(guest_folder, "unbalanced"))


def kernel_nodes(output: str) -> dict[str, list[int]]:
    """Read the program's lines: the name of an array, and the node of each of its pages."""
    lines = (line.split(":") for line in output.splitlines())
    return {name: [int(node) for node in nodes.split()] for name, nodes in lines}


@pytest.fixture(scope="session")
def two(
    request: pytest.FixtureRequest, boot: Boot, tmp_path_factory: pytest.TempPathFactory
) -> Seen:
    """The results of live_states.py on two nodes; `folder` has its files."""
    steps = ("moved", "ended meanwhile", "full", "restless", "huge", "nobody", "limits", "tuned",
             "tuned whole", "watched")  # fmt: skip
    try:
        polars = emulated_polars()
    except NoPolarsError as error:
        pytest.skip(f"no guest: {error}")
    folder = tmp_path_factory.mktemp("two")
    nodes = [GuestNode(1, 448)] * 2
    seen = seen_in_guest(request, boot, folder, nodes, *steps, polars=polars)
    return {**seen, "folder": folder}


@pytest.fixture(scope="session")
def four(
    request: pytest.FixtureRequest, boot: Boot, tmp_path_factory: pytest.TempPathFactory
) -> Seen:
    """The results of live_states.py on four nodes, one of them without CPUs."""
    folder = tmp_path_factory.mktemp("four")
    nodes = [*[GuestNode(1, 256)] * 3, GuestNode(0, 128)]
    return seen_in_guest(request, boot, folder, nodes, "policies", "cache")
