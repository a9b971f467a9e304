# SPDX-License-Identifier: Apache-2.0
"""The scripts of integrations/slurm in a real Slurm: which jobs start, what drains the node.

Their `numascape` is a script that returns the status that the test wants, and logs its calls.
Guests test that the answers about real machines are right (tests/vm/test_host.py).
"""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from quality.external import ROOT
from runtime.one_node_slurm import Slurm, missing, one_node_slurm

MIB = 1 << 20
CPU_NODES = max(1, len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))))


class Site:
    """The installed scripts, with the answers of the next checks."""

    def __init__(self, folder: Path) -> None:
        self.scripts = folder / "numascape"
        shutil.copytree(ROOT / "integrations/slurm", self.scripts)
        self.calls, self.log = folder / "calls", folder / "numascape.log"
        self.answers = folder / "answers"
        self.tool = self.scripts / "tool"
        self.tool.write_text(
            f'#!/bin/sh\necho "$*" >>{self.calls}\n'
            f'[ "$2" = check ] || exit 0\necho "node 0: an answer"\n'
            f"status=$(head -n 1 {self.answers}); sed -i 1d {self.answers}; exit ${{status:-0}}\n"
        )
        self.tool.chmod(0o755)
        self.configure()

    def configure(self, tool: Path | None = None, *lines: str) -> None:
        settings = [f"NUMASCAPE={tool or self.tool}", f"LOGGER={self.log}", *lines]
        (self.scripts / "numascape.conf").write_text("\n".join(settings) + "\n")

    def expect(self, *statuses: int) -> None:
        """Set the answers of the next checks, and forget the earlier calls."""
        self.answers.write_text("".join(f"{status}\n" for status in statuses))
        self.calls.write_text("")
        self.log.write_text("")

    def called(self) -> list[str]:
        return self.calls.read_text().splitlines()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Slurm, Site]]:
    if absent := missing():
        pytest.skip(f"needs {', '.join(absent)} (packages slurm-wlm and munge)")
    folder = tmp_path_factory.mktemp("slurm")
    site = Site(folder)
    site.expect()
    with one_node_slurm(
        folder,
        f"Prolog={site.scripts / 'prolog.sh'}",
        f"Epilog={site.scripts / 'epilog.sh'}",
        "PrologFlags=Alloc",
    ) as slurm:
        yield slurm, site


def job(slurm: Slurm, memory: str) -> str:
    """Run a job; when this returns, its epilog has ended."""
    printed = slurm.run("srun", memory, "echo", "ran")
    slurm.wait_for("idle")
    return printed


def test_a_local_job_starts_and_its_memory_is_checked(cluster: tuple[Slurm, Site]) -> None:
    slurm, site = cluster
    site.expect(0, 0)
    assert "ran" in job(slurm, "--mem=512M")
    expected = f"host check --bytes-per-node {512 * MIB // CPU_NODES}"
    assert site.called() == [expected, expected]  # the prolog's and the epilog's
    site.expect(0, 0)
    assert "ran" in job(slurm, "--mem-per-cpu=100M")
    per_node = int(site.called()[0].split()[-1])
    assert per_node > 0
    assert per_node % (100 * MIB // CPU_NODES) == 0


def test_cache_is_dropped_before_a_job_that_would_not_be_local(
    cluster: tuple[Slurm, Site],
) -> None:
    slurm, site = cluster
    site.expect(1, 0, 1)
    assert "ran" in job(slurm, "--mem=512M")
    assert [call.split()[1] for call in site.called()] == [
        "check", "drop", "check", "check", "drop",
    ]  # fmt: skip
    assert slurm.state() == "idle"


@pytest.mark.parametrize("status", [2, 3, 126, 127, 139])
def test_a_tool_that_fails_drains_no_node(cluster: tuple[Slurm, Site], status: int) -> None:
    slurm, site = cluster
    site.expect(status, status)
    assert "ran" in job(slurm, "--mem=512M")
    assert slurm.state() == "idle"
    assert {call.split()[1] for call in site.called()} == {"check"}
    assert site.log.read_text().count("nothing is checked" if status == 127 else "status") == 2


def test_a_tool_that_is_not_there_drains_no_node(cluster: tuple[Slurm, Site]) -> None:
    slurm, site = cluster
    site.expect()
    site.configure(Path("/nowhere/numascape"))
    try:
        assert "ran" in job(slurm, "--mem=512M")
    finally:
        site.configure()
    assert slurm.state() == "idle"
    assert "is not installed on this node" in site.log.read_text()


def test_a_job_that_stays_remote_drains_the_node_or_starts(cluster: tuple[Slurm, Site]) -> None:
    slurm, site = cluster
    site.expect(1, 1)
    slurm.run("sbatch", "--mem=512M", "--no-requeue", "-o", "/dev/null", "--wrap", "true")
    assert slurm.wait_for("drained", "draining") in {"drained", "draining"}
    assert "Prolog error" in slurm.run("sinfo", "-h", "-R", "-o", "%E")
    slurm.run("scancel", "-u", "root")
    slurm.resume()
    site.configure(None, "ON_REMOTE=start")
    try:
        site.expect(1, 1, 0)
        assert "ran" in job(slurm, "--mem=512M")
        assert slurm.state() == "idle"
        assert "still not local" in site.log.read_text()
    finally:
        site.configure()


def test_the_real_tool_answers_for_this_machine(cluster: tuple[Slurm, Site]) -> None:
    slurm, site = cluster
    site.expect()
    site.configure(Path(sysconfig.get_path("scripts")) / "numascape")
    try:
        assert "ran" in job(slurm, "--mem=1M")
    finally:
        site.configure()
    assert site.log.read_text() == ""


@pytest.mark.parametrize(
    ("answer", "status", "printed"), [(0, 0, ""), (1, 1, "an answer"), (2, 0, "")]
)
def test_the_health_check_fails_only_if_memory_is_not_local(
    tmp_path: Path, answer: int, status: int, printed: str
) -> None:
    site = Site(tmp_path)
    site.expect(answer)
    script = site.scripts / "nhc-numascape.sh"
    done = subprocess.run([script, "48G"], capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert printed in done.stdout
    assert bool(printed) == bool(done.stdout)
