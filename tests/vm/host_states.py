# SPDX-License-Identifier: Apache-2.0
"""In a guest: fills nodes with page cache, frees them, and writes down the states.

host_states.py STEPS FOLDER: at FOLDER/disk a disk with ext4 is mounted, at FOLDER/tmpfs a tmpfs.
The result is a JSON object of steps, in the order of this file. One process does it all, because
starting Python takes long on an emulated processor; steps as another user, or in a control group,
are its forks.
"""

import contextlib
import fcntl
import io
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numascape

# Imported before a fork changes to a user who may not read the folder of Python.
from numascape.cli.entry import run
from numascape.commands.host import before_after as _before_after  # noqa: F401
from numascape.host import allocation as _allocation  # noqa: F401
from numascape.host import causes as _causes  # noqa: F401
from numascape.host import files as _files  # noqa: F401
from numascape.host import nodes as _nodes  # noqa: F401
from numascape.host import sweeping as _sweeping  # noqa: F401
from numascape.host.experiment import ExperimentPlan, fitting_bytes, measure_point
from numascape.host.state import read_state
from numascape.host.state_document import node_bytes
from numascape.installation import installed_file

MIB = 1 << 20
NOBODY = 65534
# netdevice(7)
SIOCSIFFLAGS = 0x8914
IFF_UP = 1
GROUP = Path("/sys/fs/cgroup/limited")


def count_nodes() -> int:
    return len(list(Path("/sys/devices/system/node").glob("node[0-9]*")))


def bytes_of_nodes() -> dict[int, dict[str, int]]:
    return {node.node: node_bytes(node) for node in read_state(Path("/")).nodes}


def command(*words: str) -> dict[str, Any]:
    """Run numascape here: its exit status, what it printed, and the nodes afterwards."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = run(list(words))
        except SystemExit as ending:
            status = int(str(ending.code))
    return {"status": status, "out": out.getvalue(), "err": err.getvalue(),
            "nodes": bytes_of_nodes()}  # fmt: skip


def forked(work: Callable[[], Any]) -> Any:
    """The result of `work` in a process of its own; None if the process was killed."""
    readable, writable = os.pipe()
    if os.fork() == 0:
        try:
            os.write(writable, json.dumps(work()).encode())
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(writable)
    with os.fdopen(readable) as answer:
        text = answer.read()
    os.wait()
    return json.loads(text) if text else None


def as_nobody(*words: str) -> Any:
    def work() -> dict[str, Any]:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        return command(*words)

    return forked(work)


def in_group(work: Callable[[], Any], limit: int) -> dict[str, Any]:
    GROUP.mkdir(exist_ok=True)
    (GROUP / "memory.max").write_text(str(limit))

    def inside() -> Any:
        (GROUP / "cgroup.procs").write_text(str(os.getpid()))
        return work()

    before = killed()
    result = forked(inside)
    return {"result": result, "killed": killed() - before}


def killed() -> int:
    """Processes that the kernel's OOM killer ended in the group."""
    words = (GROUP / "memory.events").read_text().split()
    return int(words[words.index("oom_kill") + 1])


def on_node(node: int) -> None:
    """Run on the node's CPUs, so that this process touches memory first on this node."""
    text = Path(f"/sys/devices/system/node/node{node}/cpulist").read_text()
    first, _, last = text.strip().partition("-")
    os.sched_setaffinity(0, range(int(first), int(last or first) + 1))


def write(path: Path, mebibytes: int, node: int) -> Path:
    """Write a file from the node, so that its cache is on this node, and is clean at the end."""

    def work() -> None:
        on_node(node)
        block = os.urandom(MIB)
        with path.open("wb") as file:
            for _ in range(mebibytes):
                file.write(block)
            file.flush()
            os.fsync(file.fileno())

    forked(work)
    return path


def triad() -> str:
    return str(installed_file("_host/triad"))


def allocate(mebibytes: int, node: int) -> dict[str, int]:
    """The pages on each node after a thread on one node has touched memory first."""
    words = [triad(), "--bytes", str(mebibytes * MIB), "--nodes", str(node), "--samples", "0"]
    result = subprocess.run(words, capture_output=True, text=True, check=True)
    pages: dict[str, int] = json.loads(result.stdout)["pages"]
    return pages


def sweeper_of_likwid(node: int) -> Any:
    """likwid-memsweeper's exit status, for comparison, and the nodes afterwards."""
    words = ["likwid-memsweeper", "-c", str(node)]
    result = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    return {"status": result.returncode, "out": result.stdout + result.stderr,
            "nodes": bytes_of_nodes()}  # fmt: skip


def two_nodes(folder: Path) -> dict[str, Any]:
    """Page cache on node 0: the users who see it, and those who can free it."""
    seen: dict[str, Any] = {"empty": bytes_of_nodes()}
    big = write(folder / "disk/big", 240, 0)
    check = ("host", "check", "--bytes-per-node", "300M", "--nodes", "0", "--json")
    seen["check full"] = as_nobody(*check)
    seen["allocated full"] = allocate(300, 0)
    seen["files"] = command("host", "files", "--json", str(folder / "disk"))
    seen["files of others"] = as_nobody("host", "files", "--json", str(folder / "disk"))
    seen["drop others"] = as_nobody("host", "drop", "--files", str(big))
    seen["swept in a group"] = in_group(lambda: as_nobody("host", "sweep", "--node", "0"), 96 * MIB)
    seen["likwid in a group"] = in_group(lambda: sweeper_of_likwid(0), 96 * MIB)
    seen["strict pages"] = run_strictly(folder / "strict")
    write(big, 240, 0)
    seen["full"] = bytes_of_nodes()
    seen["swept half"] = as_nobody("host", "sweep", "--node", "0", "--keep", "0.5")
    seen["swept"] = as_nobody("host", "sweep", "--node", "0")
    seen["check swept"] = as_nobody(*check)
    seen["allocated swept"] = allocate(300, 0)
    seen["cold"] = command("host", "files", "--json", str(big))
    write(big, 240, 0)
    seen["likwid"] = sweeper_of_likwid(0)
    mine = write(folder / "disk/mine", 40, 1)
    os.chown(mine, NOBODY, NOBODY)
    seen["evicted mine"] = as_nobody("host", "drop", "--files", str(folder / "disk"))
    seen["evicted"] = command("host", "drop", "--files", str(write(big, 100, 1)))
    write(folder / "tmpfs/shared", 150, 0)
    seen["shared"] = command("host", "check", "--bytes-per-node", "500M", "--nodes", "0", "--json")
    seen["shared files"] = command("host", "files", "--json", str(folder / "tmpfs"))
    seen["shared swept"] = command("host", "sweep", "--node", "0")
    write(big, 100, 1)
    seen["dropped"] = command("host", "drop")
    return seen


def run_strictly(file: Path) -> Any:
    """The pages of a program under --local-strict on each node; it may use only CPUs of node 0."""

    def work() -> None:
        on_node(0)
        words = [triad(), "--bytes", str(200 * MIB), "--nodes", "0", "--samples", "0"]
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), 1)
        run(["run", "--local-strict", "--", *words])

    forked(work)
    return json.loads(file.read_text())["pages"]


def four_nodes(folder: Path) -> dict[str, Any]:
    """A sweep of all nodes at the same time, and the experiment."""
    disk = folder / "disk"
    big = [write(disk / f"big{node}", 120, node) for node in range(4)]
    seen: dict[str, Any] = {"full": bytes_of_nodes()}
    seen["swept"] = as_nobody("host", "sweep")
    for path in big:
        path.unlink()
    state = read_state(Path("/"))
    total = sum(node.total for node in state.nodes)
    size = fitting_bytes(state, 0.5)
    plan = ExperimentPlan((), (), size, 4, False, 1, disk)
    points = [(share, "first touch") for share in (0.0, 0.5, 1.0)]
    points += [(0.5, way) for way in ("strict", "swept", "dropped")]
    points += [(0.0, "interleaved")]
    results = [(share, measure_point(plan, int(share * total), way)) for share, way in points]
    seen["experiment"] = [
        {"share": share, "way": result.way, "local": result.triad.local_share,
         "pages": result.triad.pages, "cache": result.cache, "freed": result.freed}
        for share, result in results
    ]  # fmt: skip
    words = ("host", "experiment", "--sizes", "0", "--fill", "0.1", "--ways", "first touch")
    seen["mpi"] = command(*words, "--samples", "1", "--mpi", "4", "--folder", str(disk))
    seen["full disk"] = command(*words[:3], "100G", "--fill", "0.1", "--folder", str(disk))
    seen["left behind"] = sorted(path.name for path in disk.iterdir())
    return seen


def name_this_host() -> None:
    """Give it a name, and bring up the interface lo as ip(8) does: mpirun needs both."""
    socket.sethostname("guest")
    request = struct.pack("16sh14x", b"lo", IFF_UP)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, SIOCSIFFLAGS, request)


def install_for_all(folder: Path) -> None:
    """Copy the programs that are started to where every user may run them."""
    target = folder / "installed"
    shutil.copytree(installed_file("_host"), target / "_host")
    numascape.__path__.insert(0, str(target))


if __name__ == "__main__":
    steps, place = {"two": two_nodes, "four": four_nodes}[sys.argv[1]], Path(sys.argv[2])
    install_for_all(place)
    name_this_host()
    print(json.dumps(steps(place)))
