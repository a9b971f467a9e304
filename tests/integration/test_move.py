# SPDX-License-Identifier: Apache-2.0
"""`numascape move` refuses, plans and writes the right things, also on a machine with one node.

tests/vm/test_live.py moves pages between nodes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from integration.conftest import make
from integration.forbidden_calls import MOVE_PAGES, SCHED_SETAFFINITY, run_without
from integration.living import Living, write_model

PROGRAMS = Path(__file__).parents[1] / "vm/programs"
Numascape = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def living(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Living]:
    build = request.config.cache.mkdir("guest-programs")
    make(PROGRAMS, f"BUILD={build}", f"{build}/living")
    model = tmp_path_factory.mktemp("model") / "model.gguf"
    write_model(model, 16)
    running = Living(build / "living", model)
    while running.passes() < 1:
        pass
    yield running
    assert running.end() == 0


def test_pages_in_place_are_not_moved(numascape: Numascape, living: Living) -> None:
    words = ("move", "--pid", living.pid, "--policy", "local", "--json")
    status, output, errors = numascape(*words, "--structure", "table")
    document = json.loads(output)
    # All threads are on the nodes of the last CPUs that they ran on, and the machine may have one.
    assert status in {0, 1}, errors
    assert document["to_move"] + document["in_place"] == living.areas["table"].pages * 4096
    assert document["verified"] <= document["tried"] <= document["to_move"]


def test_threads_are_bound_and_released(
    numascape: Numascape, living: Living, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    status, output, errors = numascape(
        "move", "--pid", living.pid, "--policy", "bind:0", "--structure", "table", "--threads"
    )
    assert status == 0, errors
    assert "3 threads moved" in output
    written = tmp_path / f"living-{living.pid}.undo"
    assert str(written.name) in errors
    status, output, _ = numascape("move", "--undo", written)
    assert status == 0
    assert "3 threads moved" in output
    # A second move does not replace the file of the first.
    numascape("move", "--pid", living.pid, "--policy", "bind:0", "--threads", "--quiet")
    assert (tmp_path / f"living-{living.pid}-2.undo").exists()


def test_an_existing_file_is_not_replaced(
    numascape: Numascape, living: Living, tmp_path: Path
) -> None:
    path = tmp_path / "a.undo"
    path.write_text("thesis")
    words = ("move", "--pid", living.pid, "--policy", "bind:0", "--threads", "-o", path)
    status, output, errors = numascape(*words)
    assert (status, output) == (2, "")
    assert f"{path} exists, and is no undo file: name another file with -o" in errors
    assert path.read_text() == "thesis"
    path.unlink()
    assert numascape(*words)[0] == 0
    content = path.read_bytes()
    status, _, errors = numascape(*words)
    assert (status, path.read_bytes()) == (2, content)
    assert f"can still undo an earlier move of process {living.pid} (living)" in errors


def test_a_dry_run_writes_nothing(
    numascape: Numascape, living: Living, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("move", "--pid", living.pid, "--policy", "interleave", "--threads", "--dry-run")
    status, output, _ = numascape(*words)
    assert status == 0
    assert f"process {living.pid} (living): " in output
    assert "thread" in output
    assert list(tmp_path.iterdir()) == []


# A child touches all pages of a shared mapping; its parent maps the one that it reads.
SEGMENT = """
import mmap, os, time
area = mmap.mmap(-1, 256 * 4096)
if os.fork() == 0:
    area[:] = b"x" * len(area)
    os._exit(0)
os.wait()
area[0]
print("ready", flush=True)
time.sleep(1000)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="opening the file of a segment needs root")
def test_a_segment_is_moved_whole(
    numascape: Numascape, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = [sys.executable, "-c", SEGMENT]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        words = ("move", "--json", "--pid", process.pid, "--policy", "bind:0")
        segment = ("--structure", "shared anonymous memory*")
        found = [
            json.loads(numascape(*words, *segment, *more)[1])
            for more in (("--shared", "--dry-run"), ("--dry-run",), ("--shared",))
        ]
        process.kill()
    whole, mapped, moved = (one["to_move"] + one["in_place"] for one in found)
    assert whole == moved == 256 * 4096
    assert 0 < mapped < whole
    assert found[0]["pid"] == process.pid
    assert found[2]["not_moved"] == {}
    # Without pages to move, no undo file is written.
    assert len(list(tmp_path.iterdir())) == (found[2]["to_move"] > 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "give one of --policy, --plan and --undo"),
        (("--policy", "local", "--plan", "x"), "give one of --policy, --plan and --undo"),
        (("--policy", "local"), "no process given"),
        (("--undo", "none", "--pid", "1"), "leave out --pid"),
        (("--undo", "none"), "cannot read none"),
        (("--policy", "local", "--pid", "4194303"), "there is no process"),
        (("--policy", "local", "--pid", "2"), "no memory of its own"),
        (("--policy", "none", "--pid", "PID"), "there is no policy 'none'"),
        (("--policy", "bind:1023", "--pid", "PID"), "node 1023 has no memory"),
        (("--policy", "bind:0", "--pid", "PID", "--structure", "no"), "no structure 'no'"),
        (("--policy", "bind:0", "--pid", "PID", "--file", "/no"), "does not map /no"),
        (("--policy", "bind:0", "--pid", "PID", "--tensor", "a"), "--tensor needs --file"),
        (("--plan", "none.toml", "--pid", "PID", "--file", "/x"), "need --policy"),
        (("--plan", "none.toml", "--pid", "PID"), "cannot read none.toml"),
        (("--policy", "bind:0", "--file", "/none"), "/none: No such file"),
        (("--policy", "bind:0", "--file", "/"), "/ is empty or no regular file"),
        (("--policy", "bind:0", "--file", "/none", "--threads"), "--threads needs --pid"),
    ],
)
def test_errors_are_one_line(
    numascape: Numascape, living: Living, options: tuple[str, ...], message: str
) -> None:
    words = [str(living.pid) if word == "PID" else word for word in options]
    status, output, errors = numascape("move", *words)
    assert (status, output) == (2, "")
    assert message in errors
    assert errors.count("\n") == 1


def test_no_page_of_a_file_is_read_to_move_its_cache(numascape: Numascape, tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"x" * 300 * 4096)
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    # Some of it is evicted, unless it is on a tmpfs.
    os.posix_fadvise(descriptor, 100 * 4096, 100 * 4096, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)

    def cached() -> int:
        (file,) = json.loads(numascape("host", "files", "--json", path)[1])
        return int(file["resident"])

    before = cached()
    status, output, errors = numascape("move", "--json", "--file", path, "--policy", "bind:0")
    assert status in {0, 1}, errors
    document = json.loads(output)
    assert document["to_move"] + document["in_place"] == before * 4096
    assert cached() == before


def test_a_layer_of_a_file_that_nobody_maps_is_found(
    numascape: Numascape, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_model(Path("cold.gguf"), 32)
    words = ("move", "--json", "--file", "cold.gguf", "--policy", "bind:0", "--tensor", "layer 1")
    status, output, errors = numascape(*words)
    assert status in {0, 1}, errors
    document = json.loads(output)
    # Two tensors of 32 pages each: their ends are rounded to the ends of pages.
    assert abs(document["to_move"] + document["in_place"] - 64 * 4096) <= 4096


@pytest.mark.parametrize("verb", [["pages"], ["move", "--policy", "bind:0"]])
def test_a_containers_profile_is_named_with_its_flag(living: Living, verb: list[str]) -> None:
    words = [*verb, "--pid", str(living.pid)]
    result = run_without(MOVE_PAGES, *words)
    assert (result.returncode, result.stdout) == (2, "")
    assert "--security-opt seccomp=unconfined" in result.stderr
    assert result.stderr.count("\n") == 1


def test_forbidden_threads_are_named_with_the_flag(living: Living, tmp_path: Path) -> None:
    words = ["move", "--pid", str(living.pid), "--policy", "bind:0", "--structure", "table"]
    words += ["--threads", "-o", str(tmp_path / "a.undo")]
    result = run_without(SCHED_SETAFFINITY, *words)
    assert result.returncode == 1, result.stderr
    (line,) = (one for one in result.stdout.splitlines() if "not moved" in one)
    assert "3 threads not moved: this container forbids sched_setaffinity(2)" in line
    assert "--security-opt seccomp=unconfined" in line
