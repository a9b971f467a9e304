# SPDX-License-Identifier: Apache-2.0
"""The scripts of integrations/slurm in a real Slurm: which jobs start, what drains the node.

Their `numascape` is a script that returns the status that the test wants, and logs its calls.
Guests test that the answers about real machines are right (tests/vm/test_host.py).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from quality.external import ROOT
from runtime.one_node_slurm import Slurm, missing, one_node_slurm

MIB = 1 << 20
CPUS = os.cpu_count() or 1


def sockets(folder: Path, nodes: dict[int, tuple[str, str]]) -> Path:
    """A folder like /sys with these nodes: the CPUs of each, and those of its socket."""
    for number, (cpus, socket) in nodes.items():
        node = folder / f"devices/system/node/node{number}"
        node.mkdir(parents=True)
        (node / "cpulist").write_text(f"{cpus}\n")
        if cpus:
            first = cpus.replace("-", ",").split(",")[0]
            topology = folder / f"devices/system/cpu/cpu{first}/topology"
            topology.mkdir(parents=True)
            (topology / "core_siblings_list").write_text(f"{socket}\n")
    return folder


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


def job(slurm: Slurm, *options: str) -> str:
    """Run a job; when this returns, its epilog has ended."""
    printed = slurm.run("srun", *options, "echo", "ran")
    slurm.wait_for("idle")
    return printed


def test_a_local_job_starts_and_its_memory_is_checked(cluster: tuple[Slurm, Site]) -> None:
    slurm, site = cluster
    site.expect(0, 0)
    assert "ran" in job(slurm, "--mem=512M")
    before, after = site.called()  # the prolog's check and the epilog's
    assert before == after
    assert before.startswith(f"host check --bytes-per-node {512 * MIB} --nodes ")
    site.expect(0, 0)
    assert "ran" in job(slurm, "--mem-per-cpu=100M")
    per_node = int(site.called()[0].split()[3])
    assert per_node > 0
    assert per_node % (100 * MIB) == 0


@pytest.mark.skipif(CPUS < 2, reason="needs two CPUs")
def test_only_the_nodes_of_the_jobs_cpus_are_checked(
    cluster: tuple[Slurm, Site], tmp_path: Path
) -> None:
    slurm, site = cluster
    # The first CPU is node 3, all others are node 5.
    others = f"1-{CPUS - 1}" if CPUS > 2 else "1"
    system = sockets(tmp_path, {3: ("0", "0"), 5: (others, others)})
    site.configure(None, f"NUMASCAPE_SYS={system}")
    try:
        site.expect(0, 0)
        assert "ran" in job(slurm, "--mem=512M", "--ntasks=1", "--cpus-per-task=1")
        one = site.called()[0].split()
        assert one[3] == str(512 * MIB)
        assert one[-1] in {"3", "5"}
        site.expect(0, 0)
        assert "ran" in job(slurm, "--mem=512M", "--ntasks=1", f"--cpus-per-task={CPUS}")
        both = site.called()[0].split()
        first, rest = 512 * MIB // CPUS, 512 * MIB * (CPUS - 1) // CPUS
        assert both[3:] == [f"{first},{rest}", "--nodes", "3,5"]
    finally:
        site.configure()


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


# Two sockets of two nodes of two cores of two threads, as Linux numbers them; memory without CPUs.
DEEP = {
    0: ("0-1,8-9", "0-3,8-11"),
    1: ("4-5,12-13", "4-7,12-15"),
    2: ("2-3,10-11", "0-3,8-11"),
    10: ("6-7,14-15", "4-7,12-15"),
    11: ("", ""),
}


@pytest.mark.parametrize(
    ("cpus", "total", "expected"),
    [
        # Slurm's CPUs 0 to 7 are the first socket: nodes 0 and 2.
        ("0-7", 16, "536870912,536870912 --nodes 0,2"),
        ("0-1,3", 16, "1073741824 --nodes 0"),
        ("2-4,8", 16, "536870912,268435456,268435456 --nodes 0,1,2"),
        ("0-15", 16, "268435456,268435456,268435456,268435456 --nodes 0,1,2,10"),
        ("6-7", 8, "1073741824 --nodes 10"),  # Slurm counts cores, Linux counts threads
        ("", 16, "268435456"),  # not known
    ],
)
def test_the_memory_of_a_job_is_on_the_nodes_of_its_cpus(
    tmp_path: Path, cpus: str, total: int, expected: str
) -> None:
    site = Site(tmp_path)
    site.expect(0)
    # As Slurm 22.05 prints it; this host is the second group.
    (tmp_path / "scontrol").write_text(
        "#!/bin/sh\ncase $* in\n"
        "'-o -d show job 7') echo 'JobId=7 NumNodes=2-2 NumCPUs=20 NumTasks=2   Nodes=a1 "
        f"CPU_IDs=9 Mem=1 GRES= Nodes=a[2-3] CPU_IDs={cpus} Mem=9 GRES= MinCPUsNode=1 "
        "MinMemoryNode=1G MinTmpDiskNode=0 ' ;;\n"
        f"'-o show node a2') echo 'NodeName=a2 CPUAlloc=1 CPUTot={total} CPULoad=1' ;;\n"
        "'show hostnames a[2-3]') echo a2; echo a3 ;;\n"
        "'show hostnames a1') echo a1 ;;\nesac\n"
    )
    (tmp_path / "scontrol").chmod(0o755)
    system = sockets(tmp_path / "sys", DEEP)
    environment = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}", "SLURM_JOB_ID": "7", "SLURMD_NODENAME": "a2",
        "NUMASCAPE_SYS": str(system),
    }  # fmt: skip
    subprocess.run([site.scripts / "prolog.sh"], env=environment, check=True)
    assert site.called() == [f"host check --bytes-per-node {expected}"]
    site.configure(None, "NODES=all")
    site.expect(0)
    subprocess.run([site.scripts / "prolog.sh"], env=environment, check=True)
    assert site.called() == ["host check --bytes-per-node 268435456"]


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
