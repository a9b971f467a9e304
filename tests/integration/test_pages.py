# SPDX-License-Identifier: Apache-2.0
"""`numascape pages` shows the memory of a running program as the kernel and the program see it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from integration.attaching import wait_for
from integration.conftest import make
from integration.living import LAYERS, PAGE, Living, write_model
from numascape.live.files.layout import read_layout
from numascape.live.mappings import parse_numa_maps

PROGRAMS = Path(__file__).parents[1] / "vm/programs"
TENSOR_PAGES = 64
Numascape = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def program(request: pytest.FixtureRequest) -> Path:
    build = request.config.cache.mkdir("guest-programs")
    make(PROGRAMS, f"BUILD={build}", f"{build}/living")
    return build / "living"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "model.gguf"
    write_model(path, TENSOR_PAGES)
    return path


@pytest.fixture
def living(program: Path, model: Path) -> Iterator[Living]:
    running = Living(program, model)
    while running.passes() < 1:
        pass
    yield running
    assert running.end() == 0


def seen(numascape: Numascape, pid: int, *options: str) -> dict[str, Any]:
    status, output, errors = numascape("pages", "--json", "--pid", pid, *options)
    assert (status, errors) == (0, "")
    (process,) = json.loads(output)["processes"]
    found: dict[str, Any] = process
    return found


def structure(process: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [item for item in process["structures"] if item["name"] == name]
    result: dict[str, Any] = found
    return result


def test_variables_mappings_and_tensors_are_told_apart(
    numascape: Numascape, living: Living, model: Path
) -> None:
    process = seen(numascape, living.pid)
    table = structure(process, "table")
    assert (table["kind"], table["anonymous"]) == ("global", living.areas["table"].pages * PAGE)
    assert "living.c" in table["source"]
    mapping = [
        item
        for item in process["mappings"]
        if int(item["start"], 16) <= living.areas["anonymous"].start < int(item["end"], 16)
    ]
    parts = [row for part in mapping[0]["parts"] for row in part["in_memory"]]
    assert sum(row["bytes"] for row in parts) >= living.areas["anonymous"].pages * PAGE
    assert {row["memory"] for row in parts} == {"anonymous"}
    for layer in range(LAYERS):
        tensor = structure(process, f"blk.{layer}.ffn_down.weight")
        assert (tensor["kind"], tensor["file"]) == ("tensor", str(model))
        # The boundaries of tensors are rounded to boundaries of pages.
        assert abs(tensor["mapped_file"] - TENSOR_PAGES * PAGE) <= PAGE


def test_the_sums_are_those_of_the_kernel(numascape: Numascape, living: Living) -> None:
    process = seen(numascape, living.pid)
    text = Path(f"/proc/{living.pid}/numa_maps").read_text()
    lines = parse_numa_maps(text)
    compared = 0
    for mapping in process["mappings"]:
        ours = sum(
            row["bytes"]
            for part in mapping["parts"]
            for row in part["in_memory"]
            if row["node"] >= 0 and row["memory"] != "swapped"
        )
        line = lines.get(int(mapping["start"], 16))
        if line is not None and not mapping["path"].startswith("[v"):
            assert ours == sum(line.pages.values()) * line.page_bytes, mapping
            compared += 1
    assert compared > 10


def test_no_page_is_touched_by_looking(numascape: Numascape, program: Path, tmp_path: Path) -> None:
    code = (
        "import mmap, sys\n"
        "area = mmap.mmap(-1, 64 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
        "area.madvise(mmap.MADV_NOHUGEPAGE)\n"
        "area[0] = 1\n"
        "print('ready', flush=True)\n"
        "sys.stdin.read()\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"

    # It waits for input, and touches nothing more.
    wait_for(lambda: "State:\tS" in Path(f"/proc/{child.pid}/status").read_text())

    def resident() -> int:
        rollup = Path(f"/proc/{child.pid}/smaps_rollup").read_text()
        match = re.search(r"^Rss:\s+(\d+)", rollup, re.MULTILINE)
        assert match
        return int(match[1])

    before = resident()
    first = seen(numascape, child.pid)
    second = seen(numascape, child.pid, "--exact")
    assert resident() == before
    child.communicate("")
    assert first["structures"] == second["structures"]


def test_pages_that_were_only_read_have_no_node(numascape: Numascape) -> None:
    """numa_maps does not have the zero page, so the pages of such mappings are asked for."""
    code = (
        "import ctypes, mmap, sys\n"
        "area = mmap.mmap(-1, 64 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
        "area.madvise(mmap.MADV_NOHUGEPAGE)\n"
        "for page in range(32):\n"
        "    area[page * 4096]\n"
        "area[64 * 4096 : 80 * 4096] = bytes(b'x' * (16 * 4096))\n"
        "print(ctypes.addressof(ctypes.c_char.from_buffer(area)), flush=True)\n"
        "sys.stdin.read()\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    start = int(child.stdout.readline())
    process = seen(numascape, child.pid)
    child.communicate("")
    (mapping,) = [one for one in process["mappings"]
                  if int(one["start"], 16) <= start < int(one["end"], 16)]  # fmt: skip
    rows = [row for part in mapping["parts"] for row in part["in_memory"]]
    unknown = sum(row["bytes"] for row in rows if row["node"] < 0)
    assert unknown == 32 * PAGE
    assert sum(row["bytes"] for row in rows) - unknown >= 16 * PAGE


def test_threads_and_nodes_are_shown_beside_it(numascape: Numascape, living: Living) -> None:
    process = seen(numascape, living.pid)
    assert len(process["threads"]) == 3
    assert sum(node["threads"] for node in process["nodes"]) == 3
    on_nodes = sum(node["anonymous"] + node["mapped_file"] for node in process["nodes"])
    rows = [row["bytes"] for mapping in process["mappings"] for part in mapping["parts"]
            for row in part["in_memory"] if row["memory"] != "swapped"]  # fmt: skip
    assert on_nodes == sum(rows)


def test_a_table_is_printed_with_layers(numascape: Numascape, living: Living) -> None:
    status, output, _ = numascape("pages", "--pid", living.pid, "--top", "400")
    assert status == 0
    assert output.startswith(f"process {living.pid} (living): ")
    for layer in range(LAYERS):
        assert f"layer {layer} of model.gguf" in output
    assert "blk.0.attn_q.weight" not in output
    assert "blk.0.attn_q.weight" in numascape(
        "pages", "--pid", living.pid, "--top", "400", "--detail"
    )[1]  # fmt: skip
    few = numascape("pages", "--pid", living.pid, "--top", "2")[1]
    assert "more structures" in few


def test_prometheus_gets_gauges(numascape: Numascape, living: Living, tmp_path: Path) -> None:
    file = tmp_path / "pages.prom"
    status, _, _ = numascape("pages", "--pid", living.pid, "--prometheus", file)
    assert status == 0
    text = file.read_text()
    labels = f'pid="{living.pid}",process="living"'
    assert f'numascape_process_memory_bytes{{{labels},node="0",memory="anonymous"}} ' in text
    assert 'structure="table",kind="global",node=' in text
    for line in text.splitlines():
        assert re.fullmatch(r"# (HELP|TYPE) .*|[a-z_]+\{[^\n]*\} \d+", line), line


def test_a_page_is_written_and_named(numascape: Numascape, living: Living, tmp_path: Path) -> None:
    file = tmp_path / "memory.html"
    status, output, errors = numascape("pages", "--pid", living.pid, "-o", file)
    assert (status, output) == (0, "")
    assert f"wrote {file}" in errors
    assert f"<title>Memory of living ({living.pid}) · Numascape</title>" in file.read_text()


def test_watching_ends_with_the_process(program: Path, model: Path) -> None:
    running = Living(program, model)
    command = [sys.executable, "-m", "numascape", "pages", "-p", str(running.pid), "--watch", "0.2"]
    watcher = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert watcher.stdout is not None
    first = watcher.stdout.readline()
    assert running.end() == 0
    rest = watcher.communicate()[0]
    assert watcher.returncode == 0
    assert first.startswith(f"process {running.pid} (living)")
    assert rest


def test_watching_as_json_prints_a_document_in_each_line(program: Path, model: Path) -> None:
    running = Living(program, model)
    command = [sys.executable, "-m", "numascape", "pages", "-p", str(running.pid)]
    command += ["--json", "--watch", "0.1"]
    watcher = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert watcher.stdout is not None
    documents = [json.loads(watcher.stdout.readline()) for _ in range(3)]
    assert running.end() == 0
    watcher.communicate()
    assert watcher.returncode == 0
    assert [one["processes"][0]["pid"] for one in documents] == [running.pid] * 3
    times = [one["processes"][0]["time_s"] for one in documents]
    assert times == sorted(set(times))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "no process given"),
        (("--pid", "4194303"), "there is no process 4194303"),
        (("--pid", "2"), "thread of the kernel"),
        (("--pid", "1", "--json", "--prometheus", "-"), "--json cannot be used"),
        (("--pid", "1", "--json", "-o", "a.html"), "-o cannot be used with --json"),
        (("--pid", "1", "-o", "a.svg"), "a file that ends in .html"),
    ],
)
def test_errors_are_one_line(numascape: Numascape, options: tuple[str, ...], message: str) -> None:
    status, output, errors = numascape("pages", *options)
    assert (status, output) == (2, "")
    assert message in errors
    assert errors.count("\n") == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_ones_own_processes_of_a_name_are_shown_without_those_of_others() -> None:
    code = (
        "import contextlib, io, os, shutil, subprocess, sys, time\n"
        "from pathlib import Path\n"
        "from numascape.cli.entry import run\n"
        "name = f'sleep{os.getpid()}'\n"
        "def child(user):\n"
        "    asleep = [name, '60']\n"
        "    none = subprocess.DEVNULL\n"
        "    quiet = dict(stdout=none, stderr=none, user=user, group=user, extra_groups=[])\n"
        "    own = subprocess.Popen(asleep, executable=shutil.which('sleep'), **quiet)\n"
        "    while b'sleep' not in Path(f'/proc/{own.pid}/cmdline').read_bytes()[:5]:\n"
        "        time.sleep(0.001)\n"
        "    return own\n"
        "foreign, own = child(0), child(65534)\n"
        "quiet = io.StringIO()\n"
        "with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):\n"
        "    run(['pages'])\n"
        "    run(['pages', '--json', '--pid', str(own.pid)])\n"
        "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "print(foreign.pid, own.pid)\n"
        "one = run(['pages', '--json', '--pid', name])\n"
        "two = run(['pages', '--json', '--pid', name, '--pid', str(foreign.pid)])\n"
        "own.kill()\n"
        "print(one, two)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    pids, *lines, statuses = result.stdout.splitlines()
    foreign, own = pids.split()
    assert statuses == "0 2", result.stderr
    (process,) = json.loads("\n".join(lines))["processes"]
    assert process["pid"] == int(own)
    note, error = result.stderr.splitlines()
    assert (
        f"1 process is not shown, which belongs to another user or is privileged: {foreign}" in note
    )
    assert f"process {foreign} (sleep) may not be examined" in error
    os.kill(int(foreign), 9)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_users_process_is_refused_in_one_line() -> None:
    # The first run, as root, loads all modules: the other user may not read the folder of Python.
    code = (
        "import contextlib, io, os, sys\n"
        "from numascape.cli.entry import run\n"
        f"words = ['pages', '--json', '--pid', '{os.getpid()}']\n"
        "quiet = io.StringIO()\n"
        "with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):\n"
        "    run(['pages'])\n"
        "    run(words)\n"
        "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "sys.exit(run(words))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stdout) == (2, "")
    assert "run numascape as that user, or with sudo" in result.stderr
    assert result.stderr.count("\n") == 1


def test_sections_are_those_of_readelf() -> None:
    path = Path(sys.executable).resolve()
    output = subprocess.run(
        ["readelf", "-SW", path], capture_output=True, text=True, check=True
    ).stdout
    expected = {}
    for line in output.splitlines():
        words = line.replace("[ ", "[").split()
        if len(words) > 7 and words[0].startswith("[") and words[1].startswith("."):
            name, kind, _, offset, size, flags = words[1], *words[2:6], words[7]
            if "A" in flags and kind != "NOBITS":
                expected[name] = (int(offset, 16), int(offset, 16) + int(size, 16))
    found = {item.name: (item.start, item.end) for item in read_layout(path).ranges}
    assert expected
    assert found == expected
