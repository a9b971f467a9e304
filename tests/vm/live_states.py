# SPDX-License-Identifier: Apache-2.0
"""In a guest: observes and moves the memory of running programs, and writes the results.

live_states.py PROGRAMS MODEL STEP...: the folder of `living` and `restless`, and a GGUF file. The
result is a JSON object of the steps. One process does them all, because starting Python takes long
on an emulated processor.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Imported before a fork changes to a user who may not read the folder of Python.
from integration.living import Living
from numascape.commands import move as _move  # noqa: F401
from numascape.console import moves as _moves  # noqa: F401
from numascape.host.node_memory import read_nodes
from numascape.installation import installed_file
from numascape.live import document as _document  # noqa: F401
from numascape.live import file_cache as _file_cache  # noqa: F401
from numascape.live import moving as _moving  # noqa: F401
from numascape.live import plans as _plans  # noqa: F401
from numascape.live import undo as _undo  # noqa: F401
from vm.host_states import NOBODY, as_nobody, command, on_node
from vm.limit_states import limits
from vm.live_target import asked, cpus, in_mid_move, living
from vm.restless_states import restless
from vm.watch_states import watched

MIB = 1 << 20
PROGRAMS, MODEL = Path(sys.argv[1]), Path(sys.argv[2])
LIVING = PROGRAMS / "living"
HELD = 64 * MIB
PLAN = """format = "numascape-plan"
version = 1

[[threads]]
cpus = "1"
order = "1-2"

[[structures]]
name = "table"
policy = "parts"
nodes = [1, 0]
parts = [0.0, 0.25, 1.0]

[[structures]]
name = "absent"
policy = "bind"
nodes = [1]
"""


def looked_at_and_moved() -> dict[str, Any]:
    """All steps with one program, which checks its data all the time."""
    seen: dict[str, Any] = {}
    with living(LIVING, MODEL) as running:
        pid = str(running.pid)
        seen["areas"] = {name: [area.start, area.pages] for name, area in running.areas.items()}
        seen["first where"] = running.where()
        seen["first pages"] = command("pages", "--json", "--pid", pid)
        seen["table"] = command("pages", "--pid", pid)
        own = ("--structure", "table", "--structure", "anonymous")
        seen["dry run"] = asked(running, "--policy", "interleave", *own, "--dry-run")
        seen["interleave"] = asked(running, "--policy", "interleave", *own, "-o", "first.undo")
        seen["again"] = asked(running, "--policy", "interleave", *own, "-o", "none.undo")
        seen["pages after"] = command("pages", "--json", "--pid", pid)
        seen["undo"] = command("move", "--json", "--undo", "first.undo")
        seen["after undo"] = running.where()
        seen["spread"] = asked(running, "--policy", "spread", *own, "-o", "spread.undo")
        file = ("--file", str(MODEL))
        seen["tensor"] = asked(running, "--policy", "bind:1", *file, "--tensor", "layer 2")
        seen["file"] = asked(running, "--policy", "spread", *file)
        Path("plan.toml").write_text(PLAN)
        seen["plan"] = asked(running, "--plan", "plan.toml", "--threads", "-o", "plan.undo")
        seen["plan's CPUs"] = cpus(running)
        seen["plan undone"] = command("move", "--json", "--undo", "plan.undo")
        seen["CPUs after undo"] = cpus(running)
        seen["bind all"] = asked(running, "--policy", "bind:1", "--threads")
        seen["CPUs of bind"] = cpus(running)
        seen["local"] = asked(running, "--policy", "local", *own)
        seen["shared"] = asked(running, "--policy", "bind:1", "--shared", "-o", "shared.undo")
        seen["shared undone"] = command("move", "--json", "--undo", "shared.undo")
        seen["shared after"] = running.where()
        seen["interrupted"] = interrupted(running, signal.SIGINT, *own)
        seen["as nobody"] = as_nobody("move", "--pid", pid, "--policy", "interleave")
        seen["no node"] = command("move", "--pid", pid, "--policy", "bind:9")
        seen["end"] = running.end()
        seen["undo of an ended one"] = command("move", "--undo", "first.undo")
    return seen


def interrupted(running: Living, number: int, *words: str) -> dict[str, Any]:
    """A slow move, which a signal interrupts as soon as something has been moved."""
    asked(running, "--policy", "bind:0", *words)
    with in_mid_move(running.pid, lambda: os.kill(os.getpid(), number)):
        return asked(running, "--policy", "bind:1", *words, "--rate", "0.5")


def ended_meanwhile() -> dict[str, Any]:
    """The target is killed during the move."""

    def kill() -> None:
        running.process.kill()
        running.process.communicate()

    with living(LIVING, MODEL) as running, in_mid_move(running.pid, kill):
        words = ("--pid", str(running.pid), "--policy", "bind:1", "--rate", "0.5")
        return command("move", "--json", *words, "-o", "ended.undo")


@contextmanager
def holding(node: int, program: str = "", **options: Any) -> Iterator[Callable[[int], int]]:
    """A program that allocates on a node; yields a function that allocates and returns its pid."""
    words = [program or str(installed_file("_host/hold")), str(node)]
    running = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options
    )
    assert running.stdin is not None
    assert running.stdout is not None
    say, hear = running.stdin, running.stdout
    hear.readline()

    def allocate(size: int) -> int:
        say.write(f"{size}\n")
        say.flush()
        hear.readline()
        return running.pid

    yield allocate
    running.communicate("")


def full_node() -> dict[str, Any]:
    """Node 1 has little free memory; a program is not moved there below the watermarks."""
    with holding(0) as on_0, holding(1) as on_1:
        pid = on_0(HELD)
        while (usable := read_nodes(Path("/"))[1].usable) > HELD // 4:
            on_1(max(MIB, (usable - HELD // 8) // 2))
        words = ("--policy", "bind:1", "--structure", "mapping*", "-o", "full.undo")
        result = command("move", "--json", "--pid", str(pid), *words)
        node = read_nodes(Path("/"))[1]
        assert node.watermarks is not None
    return {**result, "free": node.free, "minimum": node.watermarks.minimum}


HUGE = """
import ctypes, mmap, sys
SIZE = 4 << 20
explicit = mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40000)
area = mmap.mmap(-1, 5 * SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
area.madvise(mmap.MADV_HUGEPAGE)
explicit[:] = b'e' * SIZE
area[:] = b't' * len(area)
print('ready', flush=True)
sys.stdin.readline()
print(explicit[:] == b'e' * SIZE and area[:] == b't' * len(area))
"""


def huge_pages() -> dict[str, Any]:
    """A program with explicit and transparent huge pages is moved as a whole."""
    for node in range(2):
        pool = Path(f"/sys/devices/system/node/node{node}/hugepages/hugepages-2048kB/nr_hugepages")
        pool.write_text("4")
    on_node(0)
    program = subprocess.Popen(
        [sys.executable, "-c", HUGE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    assert program.stdout is not None
    program.stdout.readline()
    rollup = Path(f"/proc/{program.pid}/smaps_rollup").read_text()
    pid = str(program.pid)
    words = ("--pid", pid, "--policy", "bind:1", "--structure", "mapping*")
    seen = {
        "transparent": next(line for line in rollup.splitlines() if "AnonHuge" in line).split()[1],
        "moved": command("move", "--json", *words, "-o", "huge.undo"),
        "numa_maps": Path(f"/proc/{pid}/numa_maps").read_text(),
        "undone": command("move", "--json", "--undo", "huge.undo"),
        "numa_maps after": Path(f"/proc/{pid}/numa_maps").read_text(),
    }
    seen["data"] = program.communicate("\n")[0]
    return seen


def of_nobody() -> dict[str, Any]:
    """Without privileges, one's own process can be moved."""
    program = shutil.copy(installed_file("_host/hold"), "/dev/shm/hold")
    with holding(0, str(program), user=NOBODY, group=NOBODY, extra_groups=[]) as allocate:
        words = ("move", "--json", "--pid", str(allocate(4 * MIB)), "--policy", "bind:1")
        own = as_nobody(*words, "--structure", "mapping*", "-o", "/dev/shm/nobody.undo")
        shared = as_nobody(*words, "--shared", "-o", "/dev/shm/other.undo")
    return {"own": own, "shared": shared}


def policies() -> dict[str, Any]:
    """A variable under each policy, on a machine with more than two nodes."""
    with living(LIVING, MODEL) as running:
        seen = {
            policy: asked(running, "--policy", policy, "--structure", "table")
            for policy in ("interleave", "spread", "bind:2,3", "interleave:1,3", "spread:3")
        }
        seen["pages"] = command("pages", "--json", "--pid", str(running.pid))
        seen["all"] = asked(running, "--policy", "interleave", "--threads")
        seen["CPUs"] = {"list": cpus(running)}
        seen["end"] = {"status": running.end()}
    return seen


def cache() -> dict[str, Any]:
    """The page cache of a file that no process maps, all of which one node has read."""
    file = str(shutil.copy(MODEL, "cold.gguf"))
    words = ["cat", file]
    on_node(0)
    os.posix_fadvise(os.open(file, os.O_RDONLY), 0, 0, os.POSIX_FADV_DONTNEED)
    subprocess.run(words, stdout=subprocess.DEVNULL, check=True)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    files = ("host", "files", "--json", file)
    seen = {"read": command(*files)}
    seen["moved"] = command("move", "--json", "--file", file, "--policy", "spread:0,1")
    seen["spread"] = command(*files)
    tensors = ("--tensor", "layer 3")
    seen["undone"] = command("move", "--json", "--undo", "cold.gguf.undo")
    seen["back"] = command(*files)
    seen["layer"] = command("move", "--json", "--file", file, "--policy", "bind:2", *tensors)
    seen["after"] = command(*files)
    return seen


def tuning() -> dict[str, Any]:
    # Imported only here, because they need data frames, whose import takes long in a guest.
    from vm.tune_states import tuned

    return tuned(LIVING, MODEL)


def tuning_whole() -> dict[str, Any]:
    from vm.tune_states import tuned_whole

    return tuned_whole(LIVING)


STEPS: dict[str, Callable[[], dict[str, Any]]] = {
    "moved": looked_at_and_moved,
    "ended meanwhile": ended_meanwhile,
    "full": full_node,
    "restless": lambda: restless(PROGRAMS / "restless", 100),
    "huge": huge_pages,
    "nobody": of_nobody,
    "limits": lambda: limits(LIVING, MODEL),
    "tuned": tuning,
    "tuned whole": tuning_whole,
    "watched": lambda: watched(LIVING),
    "policies": policies,
    "cache": cache,
}


if __name__ == "__main__":
    Path("/dev/shm").chmod(0o1777)
    print(json.dumps({name: STEPS[name]() for name in sys.argv[3:]}))
