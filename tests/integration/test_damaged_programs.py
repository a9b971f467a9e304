# SPDX-License-Identifier: Apache-2.0
"""Programs with damaged ELF headers: recorded if the kernel executes them, refused otherwise."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest

from integration.attaching import COMMAND

# The offsets of the fields of Elf64_Ehdr, and their formats.
FIELDS = {
    "e_phoff": (32, "<Q"),
    "e_shoff": (40, "<Q"),
    "e_phentsize": (54, "<H"),
    "e_phnum": (56, "<H"),
    "e_shentsize": (58, "<H"),
    "e_shnum": (60, "<H"),
    "e_shstrndx": (62, "<H"),
}
# The sections of a program are not read to execute it.
EXECUTED = [
    ("e_shoff", 1),
    ("e_shoff", 1 << 40),
    ("e_shoff", (1 << 64) - 1),
    ("e_shentsize", 0),
    ("e_shnum", 0),
    ("e_shnum", 0x7FFF),
    ("e_shstrndx", 0),
    ("e_shstrndx", 0xFFFF),
]
REFUSED = [
    ("e_phoff", 1),
    ("e_phoff", 1 << 40),
    ("e_phoff", (1 << 64) - 1),
    ("e_phentsize", 0),
    ("e_phnum", 0),
    ("e_phnum", 0xFFFF),
]


def damaged(folder: Path, field: str, value: int) -> Path:
    program = bytearray(Path("/bin/echo").read_bytes())
    place, form = FIELDS[field]
    struct.pack_into(form, program, place, value)
    path = folder / "program"
    path.write_bytes(program)
    path.chmod(0o755)
    return path


def record(program: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, "record", "-q", "-o", program.parent / "t", *options, "--", program, "words"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize(("field", "value"), EXECUTED)
def test_damaged_sections_do_no_harm(tmp_path: Path, field: str, value: int) -> None:
    finished = record(damaged(tmp_path, field, value))
    assert (finished.stdout, finished.returncode) == ("words\n", 0), finished.stderr
    assert finished.stderr == ""


@pytest.mark.parametrize("recorder", ["binary", "compiled", "faults"])
def test_damaged_segments_are_refused(tmp_path: Path, recorder: str) -> None:
    for field, value in REFUSED:
        finished = record(damaged(tmp_path, field, value), "--recorder", recorder)
        assert (finished.stdout, finished.returncode) == ("", 2)
        assert finished.stderr.count("\n") == 1
        assert "the program headers of the file are damaged" in finished.stderr
        assert [path.name for path in tmp_path.iterdir()] == ["program"]
