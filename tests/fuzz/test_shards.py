# SPDX-License-Identifier: Apache-2.0
"""Damaged shards give a trace or one clear line, but no crash and no unbounded memory or time."""

import random
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HEADER = 4096
LOG = 256 * 1024
CHUNK = 64 * 1024

# Converts each session named on standard input, in one process; its crash fails the test.
CONVERT = """
import sys
from pathlib import Path
from numascape.errors import NumascapeError
from numascape.recording.session import read_session
from numascape.conversion.convert import convert
for line in sys.stdin:
    folder = Path(line.strip())
    try:
        trace = convert(read_session(folder))
        print("trace", folder.name, trace.tables["accesses"].height)
    except NumascapeError as error:
        assert "\\n" not in str(error), error
        print("refused", folder.name, error)
"""


PYTHON_RECORDS = (25, 26)  # RecordType::kPythonFrames, kPythonCode
WORK_RECORD = 36  # RecordType::kWork
BURST_GROUPS_AT = 68  # ShardHeader::burst_groups
BURST_LEVELS_AT = 1160  # ShardHeader::burst_levels


def recorded(
    folder: Path,
    *program: str,
    recorder: str = "binary",
    event: str = "",
    sample: float | None = None,
) -> Path:
    """A session whose trace could not be written, so that its shards are still there."""
    target = folder / "run.numascape"
    code = (
        "from pathlib import Path\n"
        f"from numascape.recorders import {recorder}\n"
        "from numascape.recording.options import RecordOptions\n"
        "from numascape.recording.session import begin_session\n"
        "import dataclasses\n"
        f"program = {list(program)!r}\n"
        f"options = RecordOptions({recorder!r}, event={event or None!r}, "
        f"sample={sample!r})\n"
        f"session = begin_session(Path({str(target)!r}), program, options)\n"
        f"dataclasses.replace(session, ended={recorder}.run(session)).save()\n"
        "print(session.folder)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True
    )
    return Path(done.stdout.strip().splitlines()[-1])


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("shards"), "/bin/sh", "-c", "/bin/true; :")


def limit_memory() -> None:
    """A limit of the address space; it is large, because the libraries reserve much."""
    resource.setrlimit(resource.RLIMIT_AS, (24 << 30, 24 << 30))


def convert_all(folders: list[Path]) -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, "-c", CONVERT],
        input="".join(f"{folder}\n" for folder in folders),
        capture_output=True,
        text=True,
        timeout=300,
        preexec_fn=limit_memory,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    verdicts = [line.split(maxsplit=2) for line in done.stdout.splitlines()]
    assert len(verdicts) == len(folders), done.stdout
    return {name: verdict for verdict, name, _ in verdicts}


def copy(recording: Path, to: Path) -> Path:
    to.mkdir(parents=True)
    for path in recording.iterdir():
        if path.suffix == ".tables":
            subprocess.run(["cp", "--sparse=always", path, to / path.name], check=True)
        else:
            shutil.copy(path, to / path.name)
    return to


def first_shard(folder: Path) -> Path:
    return min(folder.glob("*.shard"))


def test_a_whole_recording_converts(recording: Path, tmp_path: Path) -> None:
    assert convert_all([copy(recording, tmp_path / "whole")]) == {"whole": "trace"}


def test_flipped_bytes(recording: Path, tmp_path: Path) -> None:
    folders = []
    for seed in range(60):
        rng = random.Random(seed)
        folder = copy(recording, tmp_path / f"flip{seed}")
        path = first_shard(folder)
        data = bytearray(path.read_bytes())
        used = [at for at in range(LOG, len(data), CHUNK) if any(data[at : at + 16])]
        for _ in range(rng.choice((1, 3, 30, 300))):
            start = rng.choice([0, HEADER, *used])
            at = start + rng.randrange(4096 if start >= LOG else 256)
            if at < len(data):
                data[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        path.write_bytes(data)
        folders.append(folder)
    assert set(convert_all(folders).values()) <= {"trace", "refused"}


def records(shard: bytes) -> Iterator[tuple[int, int, int]]:
    """Type, position and bytes of each record in the log."""
    for chunk in range(LOG, len(shard), CHUNK):
        used = int.from_bytes(shard[chunk + 8 : chunk + 12], "little")
        at = chunk + 16
        while at + 8 <= chunk + used:
            size = 8 * int.from_bytes(shard[at + 2 : at + 4], "little")
            yield shard[at], at, size
            at += max(8, size)


def test_damaged_python_functions(tmp_path: Path) -> None:
    text = "import array\ndef f(n): return array.array('d', bytes(n))\nkept = [f(80000), f(9000)]\n"
    whole = recorded(tmp_path, sys.executable, "-I", "-S", "-c", text)
    content = first_shard(whole).read_bytes()
    python = [(at, size) for kind, at, size in records(content) if kind in PYTHON_RECORDS]
    assert len(python) >= 4
    folders = []
    for seed in range(12):
        rng = random.Random(seed)
        folder = copy(whole, tmp_path / f"python{seed}")
        data = bytearray(content)
        for at, size in python:
            for _ in range(rng.choice((1, 2, 20))):
                # Mostly the fields are damaged, less often the text and the table.
                data[at + 8 + rng.randrange(min(size, rng.choice((48, 4096))) - 8)] = rng.choice(
                    (0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256))
                )
        first_shard(folder).write_bytes(data)
        folders.append(folder)
    assert set(convert_all(folders).values()) <= {"trace", "refused"}


def test_forged_bursts(tmp_path: Path) -> None:
    """The number of groups, and the work of the threads, which the counts are multiplied by."""
    whole = recorded(tmp_path, sys.executable, "-c", "sum(range(3_000_000))", sample=0.1)
    content = first_shard(whole).read_bytes()
    assert content[BURST_GROUPS_AT] == 8
    work = [at for kind, at, _ in records(content) if kind == WORK_RECORD]
    assert work
    bursts = (1 << 30).to_bytes(8, "little")
    forged = {}
    for groups in (1, 7, 16, 0xFFFFFFFF):
        data = bytearray(content)
        data[BURST_GROUPS_AT : BURST_GROUPS_AT + 4] = groups.to_bytes(4, "little")
        forged[f"groups{groups}"] = data
    for levels in (0, 2, 0xFFFFFFFF):
        data = bytearray(content)
        data[BURST_LEVELS_AT : BURST_LEVELS_AT + 4] = levels.to_bytes(4, "little")
        forged[f"levels{levels}"] = data
    for counted in (0, 1, 0xFFFFFFFFFFFFFFFF):
        data = bytearray(content)
        for at in work:
            numbers = b"\xff" * 8 + counted.to_bytes(8, "little") + bursts
            data[at + 8 : at + 8 + len(numbers)] = numbers
        forged[f"counted{counted}"] = data
    folders = []
    for name, data in forged.items():
        folders.append(copy(whole, tmp_path / name))
        first_shard(folders[-1]).write_bytes(data)
    verdicts = convert_all(folders)
    assert {name for name, verdict in verdicts.items() if verdict == "trace"} == {
        "counted0",
        "counted18446744073709551615",
    }


def test_damaged_logs_of_samples(tmp_path: Path) -> None:
    """The log has the samples, and the tree of the calls that led to them."""
    text = "x = list(range(9))\nfor _ in range(300_000): sum(x)"
    program = (sys.executable, "-c", text)
    recording = recorded(tmp_path, *program, recorder="samples", event="task-clock")
    entry, header = 48, 16
    folders = []
    for seed in range(24):
        rng = random.Random(seed)
        folder = copy(recording, tmp_path / f"log{seed}")
        path = folder / "faults"
        data = bytearray(path.read_bytes())
        for _ in range(rng.choice((3, 300, 3000))):
            # The kind and the callers, or anything.
            field = rng.choice((36, 40, rng.randrange(entry)))
            at = header + rng.randrange((len(data) - header) // entry) * entry + field
            data[at] = rng.choice((0, 1, 2, 10, 0xFF, rng.randrange(256)))
        path.write_bytes(data[: rng.choice((len(data), rng.randrange(len(data))))])
        folders.append(folder)
    assert set(convert_all(folders).values()) <= {"trace", "refused"}


def test_truncated_shards(recording: Path, tmp_path: Path) -> None:
    size = first_shard(recording).stat().st_size
    cuts = [0, 1, 8, 100, HEADER, HEADER + 1, LOG - 1, LOG, LOG + 8, LOG + 16, LOG + 24]
    cuts += [LOG + CHUNK - 1, LOG + CHUNK, size - 1]
    folders = []
    for cut in cuts:
        folder = copy(recording, tmp_path / f"cut{cut}")
        path = first_shard(folder)
        path.write_bytes(path.read_bytes()[:cut])
        folders.append(folder)
    verdicts = convert_all(folders)
    assert verdicts["cut8"] == "refused"
    assert verdicts[f"cut{size - 1}"] == "trace"


def test_other_versions_and_missing_parts(recording: Path, tmp_path: Path) -> None:
    newer = copy(recording, tmp_path / "newer")
    data = bytearray(first_shard(newer).read_bytes())
    data[8] = 99
    first_shard(newer).write_bytes(data)
    no_tables = copy(recording, tmp_path / "no_tables")
    first_shard(no_tables).with_suffix(".tables").unlink()
    no_shards = copy(recording, tmp_path / "no_shards")
    for path in no_shards.glob("*.shard"):
        path.unlink()
    no_session = copy(recording, tmp_path / "no_session")
    (no_session / "session.json").write_text("{")
    folders = [newer, no_tables, no_shards, no_session]
    assert set(convert_all(folders).values()) == {"refused"}
