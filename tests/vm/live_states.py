# SPDX-License-Identifier: Apache-2.0
"""In a guest: looks at and moves the memory of running programs, and writes down what was seen.

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
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

# Imported before any fork becomes a user who may not read where Python lies.
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
from numascape.live.mappings import parse_numa_maps
from numascape.live.plans import Move, Scope, move_by_policy
from numascape.live.targets import Target, target_of
from numascape.prediction.model import Prediction
from numascape.tuning.advice import Advice
from numascape.tuning.loop import Effects, Outcome, Request, apply
from numascape.tuning.metric import Metric
from numascape.tuning.metric import measure as measure_metric
from numascape.tuning.printing import outcome_lines
from vm.host_states import NOBODY, as_nobody, command, on_node

MIB = 1 << 20
PROGRAMS, MODEL = Path(sys.argv[1]), Path(sys.argv[2])
MOVES = 8
# Measures that fall or rise with each run, and one that fails after three.
FALLS = "echo x >>falls; expr 10 - $(wc -l <falls)"
RISES = "echo x >>rises; wc -l <rises"
BREAKS = "echo x >>breaks; wc -l <breaks; test $(wc -l <breaks) -le 3"
NOTHING = Prediction("", 1.0, 1.0, 1.0, 1.0, "", "nothing", 0.0, 0.0, np.zeros((2, 2)), (0, 1), (),
                     ())  # fmt: skip
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


@contextmanager
def living(node: int = 0) -> Iterator[Living]:
    """The program, all of whose memory is on one node at first."""
    on_node(node)
    running = Living(PROGRAMS / "living", MODEL)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    while running.passes() < 1:
        pass
    # All of its threads exist now.
    for tid in Path(f"/proc/{running.pid}/task").iterdir():
        os.sched_setaffinity(int(tid.name), range(os.cpu_count() or 1))
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.process.kill()
            running.process.communicate()


def asked(running: Living, *words: str) -> dict[str, Any]:
    """Run `numascape move` on it: its account, and where the program then is told its pages are."""
    before = running.passes()
    result = command("move", "--json", "--pid", str(running.pid), *words)
    while running.passes() < before + 1:
        pass
    return {**result, "where": running.where()}


def anonymous(running: Living) -> str:
    """The name of its anonymous mapping; the kernel merges mappings, so it may begin below."""
    wanted = running.areas["anonymous"].start
    for line in Path(f"/proc/{running.pid}/maps").read_text().splitlines():
        start, end = (int(word, 16) for word in line.split()[0].split("-"))
        if start <= wanted < end:
            return f"mapping at {start:#x}"
    raise AssertionError


def looked_at_and_moved() -> dict[str, Any]:
    """Everything on one program, which checks its data all the time."""
    seen: dict[str, Any] = {}
    with living() as running:
        pid = str(running.pid)
        seen["areas"] = {name: [area.start, area.pages] for name, area in running.areas.items()}
        seen["first where"] = running.where()
        seen["first pages"] = command("pages", "--json", "--pid", pid)
        seen["table"] = command("pages", "--pid", pid)
        own = ("--structure", "table", "--structure", anonymous(running))
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
        seen["shared"] = asked(running, "--policy", "bind:1", "--shared")
        seen["interrupted"] = interrupted(running, signal.SIGINT, *own)
        seen["as nobody"] = as_nobody("move", "--pid", pid, "--policy", "interleave")
        seen["no node"] = command("move", "--pid", pid, "--policy", "bind:9")
        seen["end"] = running.end()
        seen["undo of an ended one"] = command("move", "--undo", "first.undo")
    return seen


def cpus(running: Living) -> list[list[int]]:
    tids = sorted(int(path.name) for path in Path(f"/proc/{running.pid}/task").iterdir())
    return [sorted(os.sched_getaffinity(tid)) for tid in tids]


def on_node_1(pid: int) -> int:
    """The pages of a process on node 1."""
    text = Path(f"/proc/{pid}/numa_maps").read_text()
    return sum(line.pages.get(1, 0) for line in parse_numa_maps(text).values())


def interrupted(running: Living, number: int, *words: str) -> dict[str, Any]:
    """A slow move, which a signal interrupts as soon as something has been moved."""
    asked(running, "--policy", "bind:0", *words)
    before = on_node_1(running.pid)

    ended = threading.Event()

    def interrupt() -> None:
        while not ended.wait(0.05):
            if on_node_1(running.pid) >= before + 64:
                os.kill(os.getpid(), number)
                return

    helper = threading.Thread(target=interrupt)
    helper.start()
    result = asked(running, "--policy", "bind:1", *words, "--rate", "0.5")
    ended.set()
    helper.join()
    return result


def ended_meanwhile() -> dict[str, Any]:
    """The target is killed in mid-move."""
    with living() as running:
        before = on_node_1(running.pid)
        ended = threading.Event()

        def kill() -> None:
            while not ended.wait(0.05) and on_node_1(running.pid) < before + 64:
                pass
            running.process.kill()
            running.process.communicate()

        helper = threading.Thread(target=kill)
        helper.start()
        words = ("--pid", str(running.pid), "--policy", "bind:1", "--rate", "0.5")
        result = command("move", "--json", *words, "-o", "ended.undo")
        ended.set()
        helper.join()
    return result


@contextmanager
def holding(node: int, program: str = "", **options: Any) -> Iterator[Callable[[int], int]]:
    """A program that allocates on a node; yields a function that allocates, and tells its pid."""
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


def restless() -> dict[str, Any]:
    """All memory of a program that forks and maps all the time is moved to and fro meanwhile."""
    program = subprocess.Popen([PROGRAMS / "restless"], stdout=subprocess.PIPE, text=True)
    assert program.stdout is not None
    program.stdout.readline()
    moved = 0
    errors = []
    for number in range(MOVES):
        words = ["--policy", f"bind:{(number + 1) % 2}", "-o", "restless.undo"]
        words += ["--shared"] if number % 4 < 2 else []
        result = command("move", "--json", "--pid", str(program.pid), *words)
        if result["status"] in {0, 1}:
            moved += sum(row["bytes"] for row in json.loads(result["out"])["moved"])
        else:
            errors.append(result["err"])
    program.terminate()
    out = program.communicate()[0]
    return {"status": program.returncode, "out": out, "moved": moved, "errors": errors}


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


def tuned() -> dict[str, Any]:
    """The part of `tune` that changes the program: move, measure, and take back what got worse.

    What it moves is given. Polars, with which it observes and plans, computes wrongly or crashes in
    an emulated guest: QEMU 7.2 executes some gathers of AVX2 wrongly (see CONTRIBUTING.md).
    """
    seen: dict[str, Any] = {}
    with living() as running:
        target = target_of(running.pid)
        assert target is not None
        for name, measure in (("worse", FALLS), ("failed", BREAKS), ("kept", RISES)):
            seen[f"before {name}"] = running.where()
            move = move_by_policy(target, "spread", Scope(("table",), threads=True))
            outcome = applied(target, move, Metric(measure, 3), f"{name}.undo")
            done, back = outcome.done, outcome.taken_back
            assert done is not None
            seen[name] = {
                "moved": done.account.moved_bytes,
                "verified": done.account.verified,
                "taken back": None if back is None else back.account.verified,
                "failure": outcome.failure,
                "measured": [one and one.median for one in (outcome.metric_before,
                                                            outcome.metric_after)],
                "lines": list(outcome_lines(outcome)),
                "where": running.where(),
                "CPUs": cpus(running),
            }  # fmt: skip
        seen["end"] = running.end()
    return seen


def applied(target: Target, move: Move, metric: Metric, undo: str) -> Outcome:
    """The outcome of the move just before the process would be observed again."""
    request = Request(target, 1.0, "binary", Path(), True, metric, undo=Path(undo))
    effects = Effects(lambda _line: None, lambda: False, lambda _of, _done: None)
    before = measure_metric(metric, effects.is_stopped)
    outcome = Outcome(advice=Advice(move, (), NOTHING, NOTHING), metric_before=before)
    for outcome in apply(request, effects, outcome):  # noqa: B020
        if outcome.metric_after is not None or outcome.taken_back is not None:
            return outcome
    raise AssertionError


def policies() -> dict[str, Any]:
    """A variable under each policy, on a machine with more than two nodes."""
    with living() as running:
        seen = {
            policy: asked(running, "--policy", policy, "--structure", "table", "-o", "any.undo")
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
    seen["layer"] = command("move", "--json", "--file", file, "--policy", "bind:2", *tensors)
    seen["after"] = command(*files)
    return seen


STEPS: dict[str, Callable[[], dict[str, Any]]] = {
    "moved": looked_at_and_moved,
    "ended meanwhile": ended_meanwhile,
    "full": full_node,
    "restless": restless,
    "huge": huge_pages,
    "nobody": of_nobody,
    "tuned": tuned,
    "policies": policies,
    "cache": cache,
}


if __name__ == "__main__":
    Path("/dev/shm").chmod(0o1777)
    print(json.dumps({name: STEPS[name]() for name in sys.argv[3:]}))
