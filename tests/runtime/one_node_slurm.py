# SPDX-License-Identifier: Apache-2.0
"""A real slurmctld and slurmd on this machine, with munge; all files in one folder."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = ("slurmctld", "slurmd", "munged", "srun", "scontrol")
LIMIT_S = 180


def missing() -> list[str]:
    """The required commands that are missing."""
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    return absent if os.geteuid() == 0 else [*absent, "root"]


@dataclass(frozen=True)
class Slurm:
    """A cluster of one node."""

    folder: Path
    environment: dict[str, str]

    def run(self, *words: str, status: int | None = 0) -> str:
        done = subprocess.run(
            words,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert status in (None, done.returncode), done.stdout + self.logs()
        return done.stdout

    def state(self) -> str:
        """The node's state: idle, drained, ..."""
        return self.run("sinfo", "-h", "-o", "%T").strip()

    def wait_for(self, *states: str) -> str:
        """Wait for one of these states; after LIMIT_S, return the last state."""
        deadline = time.monotonic() + LIMIT_S
        while (state := self.state()) not in states and time.monotonic() < deadline:
            time.sleep(0.2)
        return state

    def resume(self) -> None:
        name = socket.gethostname().partition(".")[0]
        self.run("scontrol", "update", f"nodename={name}", "state=resume")
        assert self.wait_for("idle") == "idle", self.logs()

    def logs(self) -> str:
        return "".join(path.read_text()[-2000:] for path in self.folder.glob("*.log"))


@contextmanager
def one_node_slurm(folder: Path, *lines: str) -> Iterator[Slurm]:
    """Start the cluster, with these lines in its slurm.conf, and end it."""
    (folder / "state").mkdir()
    (folder / "spool").mkdir()
    ports = _free_ports(2)
    (folder / "slurm.conf").write_text(_configuration(folder, ports, lines))
    environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
    slurm = Slurm(folder, environment)
    started: list[subprocess.Popen[bytes]] = []
    try:
        for command in (
            _munged(folder), ["slurmctld", "-D"], ["slurmd", "-D"],
        ):  # fmt: skip
            with (folder / f"{Path(command[0]).name}.out").open("wb") as output:
                started.append(
                    subprocess.Popen(
                        command, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                        stderr=output,
                    )
                )  # fmt: skip
            if command[0] == "munged":
                _wait_for_socket(folder / "munge.socket")
        _wait_until_it_answers(slurm)
        yield slurm
    finally:
        for process in reversed(started):
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(20)
            if process.poll() is None:
                process.kill()
                process.wait()


def _munged(folder: Path) -> list[str]:
    """A separate munge with a key of its own: that of this machine stays unchanged."""
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    return [
        "munged",
        "--foreground",
        "--force",
        f"--key-file={key}",
        f"--socket={folder / 'munge.socket'}",
        f"--pid-file={folder / 'munged.pid'}",
        f"--log-file={folder / 'munged.log'}",
        f"--seed-file={folder / 'munge.seed'}",
    ]


def _wait_for_socket(path: Path) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not path.exists():
        assert time.monotonic() < deadline, "munged does not start"
        time.sleep(0.1)


def _wait_until_it_answers(slurm: Slurm) -> None:
    deadline = time.monotonic() + LIMIT_S
    while "idle" not in slurm.run("sinfo", "-h", "-o", "%T", status=None):
        assert time.monotonic() < deadline, slurm.logs()
        time.sleep(0.2)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def _configuration(folder: Path, ports: list[int], lines: tuple[str, ...]) -> str:
    host = socket.gethostname().partition(".")[0]
    return "\n".join(
        [
            "ClusterName=test",
            f"SlurmctldHost={host}(127.0.0.1)",
            f"SlurmctldPort={ports[0]}",
            f"SlurmdPort={ports[1]}",
            "SlurmUser=root",
            "SlurmdUser=root",
            "AuthType=auth/munge",
            f"AuthInfo=socket={folder / 'munge.socket'}",
            "CredType=cred/munge",
            "ProctrackType=proctrack/linuxproc",
            "TaskPlugin=task/none",
            "SwitchType=switch/none",
            "JobAcctGatherType=jobacct_gather/none",
            "AccountingStorageType=accounting_storage/none",
            "SelectType=select/cons_tres",
            "SelectTypeParameters=CR_Core_Memory",
            f"StateSaveLocation={folder / 'state'}",
            f"SlurmdSpoolDir={folder / 'spool'}",
            f"SlurmctldPidFile={folder / 'slurmctld.pid'}",
            f"SlurmdPidFile={folder / 'slurmd.pid'}",
            f"SlurmctldLogFile={folder / 'slurmctld.log'}",
            f"SlurmdLogFile={folder / 'slurmd.log'}",
            "MpiDefault=none",
            "ReturnToService=2",
            *lines,
            f"NodeName={host} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} RealMemory=2000 "
            "State=UNKNOWN",
            f"PartitionName=p Nodes={host} Default=YES MaxTime=INFINITE State=UP",
            "",
        ]
    )
