# SPDX-License-Identifier: Apache-2.0
"""A running process is recorded from outside: its page faults, and the kernel's samples."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import numascape
from integration.attaching import NOBODY
from integration.conftest import PROGRAMS, make
from integration.forbidden_calls import PERF_EVENT_OPEN, PROCESS_VM_READV, run_without
from integration.living import LAYERS, write_model
from numascape.installation import installed_file

SLICE_S = 0.25
# One thread reads the first layers of a model. In a later slice, another thread reads the last.
READS = f"""
import mmap, sys, threading, time
file = open(sys.argv[1], "rb")
model = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
half = len(model) // 2
print("ready", flush=True)
sys.stdin.readline()
def read(first, end):
    sum(model[at] for at in range(first, end, 4096))
for part in ((0, half), (half, len(model))):
    thread = threading.Thread(target=read, args=part)
    thread.start()
    thread.join()
    later = time.monotonic() + {SLICE_S}
    while time.monotonic() < later:
        time.sleep(0.01)
"""
TENSOR_PAGES = 64


@pytest.fixture(scope="module")
def program(request: pytest.FixtureRequest) -> Path:
    build = request.config.cache.mkdir("running-programs")
    make(PROGRAMS, f"BUILD={build}", "KERNELS=", f"{build}/parity_c")
    return build / "parity_c"


def wait_for_events(pid: int, kinds: int = 1) -> None:
    """Wait until the helper that observes the process has events of the kernel for each CPU."""
    end = time.monotonic() + 300
    while time.monotonic() < end:
        for process in Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes().split(b"\0")
                if b"numascape-faults" not in words[0] or str(pid).encode() not in words:
                    continue
                files = [str(file.readlink()) for file in (process / "fd").iterdir()]
            except OSError:
                continue
            if sum("perf_event" in file for file in files) >= kinds * (os.cpu_count() or 1):
                return
        time.sleep(0.02)
    raise AssertionError("the recorder does not look at the process")


def test_a_running_process_is_looked_at(program: Path, command: Path, tmp_path: Path) -> None:
    target = tmp_path / "t.numascape"
    with subprocess.Popen([program, "wait"], stdin=-1, stdout=-1, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        options = ["--recorder", "faults", "--pid", str(process.pid), "-o", str(target)]
        with subprocess.Popen([command, "record", *options], stderr=-1, text=True) as recorder:
            assert recorder.stderr is not None
            assert "Looking at the page faults" in recorder.stderr.readline()
            wait_for_events(process.pid)
            process.stdin.write("\n")
            process.stdin.close()
            assert recorder.wait(300) == 0, recorder.stderr.read()
    trace = numascape.open(target)
    table = trace.structures.filter(pl.col("name") == "table").select("structure")
    touched = trace.first_touch.join(table, on="structure")
    assert sorted(touched["page"]) == list(range(32))
    assert {Path(file).name for file in touched["file"]} == {"parity_c.c"}
    assert trace.accesses.is_empty()


def test_a_process_that_touches_nothing_new_is_told(command: Path, tmp_path: Path) -> None:
    target = tmp_path / "t.numascape"
    sleep = shutil.which("sleep")
    assert sleep is not None
    name = f"sleep-of-{os.getpid()}"
    with subprocess.Popen([shutil.copy(sleep, tmp_path / name), "60"]) as process:
        options = ["--recorder", "faults", "--pid", name, "-o", str(target)]
        recorder = subprocess.run(
            [command, "record", "-q", *options, "--seconds", "0.5"],
            capture_output=True,
            text=True,
            check=False,
        )
        process.kill()
    assert recorder.returncode == 2
    assert f"process {process.pid} touched no new page" in recorder.stderr
    assert not target.exists()


@pytest.mark.parametrize("recorded", [["--pid", "PID"], ["-q", "--", "true"]])
def test_a_containers_profile_is_named_with_its_flag(recorded: list[str], tmp_path: Path) -> None:
    level = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    if level > 2:
        pytest.skip("this kernel permits no page-fault events to users")
    words = [str(os.getpid()) if word == "PID" else word for word in recorded]
    options = ["record", "--recorder", "faults", "-o", str(tmp_path / "t.numascape")]
    result = run_without(PERF_EVENT_OPEN, *options, *words)
    assert result.returncode == 2
    assert "--cap-add PERFMON, or with --security-opt seccomp=unconfined" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("recorded", [["--pid", "PID"], ["-q", "--", "true"]])
def test_code_that_must_not_be_read_is_named_with_its_flag(
    recorded: list[str], tmp_path: Path
) -> None:
    words = [str(os.getpid()) if word == "PID" else word for word in recorded]
    options = ["record", "--recorder", "samples", "--event", "task-clock"]
    result = run_without(PROCESS_VM_READV, *options, "-o", str(tmp_path / "t"), *words)
    assert result.returncode == 2
    assert "forbids process_vm_readv(2)" in result.stderr
    assert "--cap-add SYS_PTRACE, or with --security-opt seccomp=unconfined" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_process_of_another_user_is_called_so(tmp_path: Path) -> None:
    level = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    if level > 2:
        pytest.skip("this kernel permits no events to users")
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, NOBODY, NOBODY)
        # The installation need not be readable for another user.
        helper = shutil.copy(installed_file("_recorder/numascape-faults"), folder)
        for events in ([], ["1:1:0:0:0:4000003:10000003:0:0:0:0", "--without-faults"]):
            words = [helper, folder, "--pid", str(os.getpid()), "1", *events]
            result = subprocess.run(words, user=NOBODY, group=NOBODY, extra_groups=[], check=False)
            assert result.returncode == 125
            reason = (Path(folder) / "launch-error").read_text()
            assert "belongs to another user, or has other privileges: run numascape as" in reason
            assert "perf_event_paranoid" not in reason


def test_tensors_and_time_slices_of_a_running_process(command: Path, tmp_path: Path) -> None:
    model, target = tmp_path / "model.gguf", tmp_path / "t.numascape"
    write_model(model, TENSOR_PAGES)
    words = [sys.executable, "-c", READS, str(model)]
    with subprocess.Popen(words, stdin=-1, stdout=-1, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        options = ["--recorder", "samples", "--event", "page-faults", "--every", str(SLICE_S)]
        options += ["--pid", str(process.pid), "-o", str(target)]
        with subprocess.Popen([command, "record", "-q", *options], stderr=-1) as recorder:
            wait_for_events(process.pid, kinds=2)
            process.stdin.write("\n")
            process.stdin.close()
            assert recorder.stderr is not None
            assert recorder.wait(300) == 0, recorder.stderr.read()
    trace = numascape.open(target)
    rows = trace.accesses.join(trace.structures.select("structure", "name"), on="structure")
    threads: list[Any] = []
    slices: list[Any] = []
    for layer in range(LAYERS):
        for part in ("attn_q", "ffn_down"):
            own = rows.filter(name=f"blk.{layer}.{part}.weight")
            # At one fault, the kernel maps up to 16 pages of a file.
            assert own["page"].n_unique() >= TENSOR_PAGES // 32
            assert max(own["page"].to_list()) <= TENSOR_PAGES
        threads.append(own["thread"].min())
        slices.append(own["phase"].min())
    assert threads[0] == threads[1] < threads[2] == threads[3]
    # A slice may end between two layers.
    assert slices[0] <= slices[1] < slices[2] <= slices[3]
    names = trace.phases["name"].to_list()
    assert names[1] == "0.00–0.25 s"  # noqa: RUF001
