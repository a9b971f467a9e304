# SPDX-License-Identifier: Apache-2.0
"""In a guest: fills nodes with page cache and frees them, and writes down what was seen.

host_states.py FOLDER: a disk with ext4 is mounted at FOLDER/disk, a tmpfs at FOLDER/tmpfs. The
result is a JSON object of steps, in the order of this file. One process does it all, because
starting Python takes long on an emulated processor; steps as another user, or in a control group,
are its forks.
"""

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numascape.cli.entry import run
from numascape.host.state import read_state
from numascape.host.state_document import node_bytes
from numascape.installation import installed_file

MIB = 1 << 20
NOBODY = 65534
GROUP = Path("/sys/fs/cgroup/limited")
TRIAD = str(installed_file("_host/triad"))


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
    """What `work` returns in a process of its own, None when that was killed."""
    readable, writable = os.pipe()
    if os.fork() == 0:
        try:
            os.write(writable, json.dumps(work()).encode())
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
    """Run on the node's CPUs, so that what this process touches first is there."""
    cpus = [cpu for cpu in os.sched_getaffinity(0)]
    del cpus
    text = Path(f"/sys/devices/system/node/node{node}/cpulist").read_text()
    first, _, last = text.strip().partition("-")
    os.sched_setaffinity(0, range(int(first), int(last or first) + 1))


def write(path: Path, mebibytes: int, node: int) -> Path:
    """Write a file from the node, so that its cache is there; clean when this returns."""

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


def allocate(mebibytes: int, node: int) -> dict[str, int]:
    """Pages by node of memory that a thread on the node touches first."""
    words = [TRIAD, "--bytes", str(mebibytes * MIB), "--nodes", str(node), "--samples", "0"]
    result = subprocess.run(words, capture_output=True, text=True, check=True)
    pages: dict[str, int] = json.loads(result.stdout)["pages"]
    return pages


def sweeper_of_likwid(node: int) -> Any:
    """likwid-memsweeper's exit status, for comparison, and the nodes afterwards."""
    words = ["likwid-memsweeper", "-c", f"N:{node}" if node < 0 else str(node), "-q"]
    result = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    return {"status": result.returncode, "out": result.stdout + result.stderr,
            "nodes": bytes_of_nodes()}  # fmt: skip
