# SPDX-License-Identifier: Apache-2.0
"""Programs that our compilers of this version built are recognised by their note."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from numascape.compiler.elf_notes import is_compiled_for_counting, is_of_another_version

ROOT = Path(__file__).parents[3]


def number_in_the_source() -> int:
    header = ROOT / "src/native/llvm-pass/compiled_version.h"
    (define,) = (line for line in header.read_text().splitlines() if line.startswith("#define"))
    return int(define.split()[-1])


def elf(path: Path, note: bytes) -> Path:
    """An ELF file with one program header, PT_NOTE."""
    header = b"\x7fELF\x02\x01" + bytes(26) + struct.pack("<Q", 64)
    header = header.ljust(54, b"\0") + struct.pack("<HH", 56, 1)
    program = struct.pack("<IIQQQQ", 4, 4, 128, 0, 0, len(note)).ljust(56, b"\0")
    path.write_bytes((header.ljust(64, b"\0") + program).ljust(128, b"\0") + note)
    return path


def note_of(version: int) -> bytes:
    return struct.pack("<III", 10, 4, 1) + b"Numascape\0\0\0" + struct.pack("<I", version)


def test_this_versions_programs_are_known(tmp_path: Path) -> None:
    program = elf(tmp_path / "program", note_of(number_in_the_source()))
    assert is_compiled_for_counting(program)
    assert not is_of_another_version(program)


def test_another_versions_are_told(tmp_path: Path) -> None:
    program = elf(tmp_path / "program", note_of(number_in_the_source() - 1))
    assert not is_compiled_for_counting(program)
    assert is_of_another_version(program)


@pytest.mark.parametrize("note", [b"", b"Numascape\0", struct.pack("<III", 4, 4, 1) + b"GNU\0\1"])
def test_other_files_are_neither(tmp_path: Path, note: bytes) -> None:
    for file in (elf(tmp_path / "program", note), tmp_path / "none", tmp_path):
        assert not is_compiled_for_counting(file)
        assert not is_of_another_version(file)


@pytest.mark.parametrize(
    ("at", "number"),
    [
        (32, struct.pack("<Q", 1 << 63)),  # the place of the program headers
        (32, struct.pack("<Q", (1 << 64) - 1)),
        (54, struct.pack("<H", 8)),  # how long each is
        (56, struct.pack("<H", 0xFFFF)),  # how many there are
        (64 + 8, struct.pack("<Q", (1 << 64) - 1)),  # where the note is
    ],
)
def test_a_damaged_header_is_no_error(tmp_path: Path, at: int, number: bytes) -> None:
    program = elf(tmp_path / "program", note_of(number_in_the_source()))
    content = bytearray(program.read_bytes())
    content[at : at + len(number)] = number
    program.write_bytes(content)
    assert not is_compiled_for_counting(program)
    assert not is_of_another_version(program)
