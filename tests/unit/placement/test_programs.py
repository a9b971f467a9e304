# SPDX-License-Identifier: Apache-2.0
"""The headers and rights of a program decide whether a library can be preloaded."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from numascape.errors import NumascapeError
from numascape.placement.programs import check_program


def elf(*kinds: int, machine: int = 62, form: bytes = b"\x02\x01", size: int = 56) -> bytes:
    """The start of an ELF file with program headers of these kinds."""
    head = bytearray(64)
    head[:6] = b"\x7fELF" + form
    struct.pack_into("<H", head, 18, machine)
    struct.pack_into("<Q", head, 32, 64)
    struct.pack_into("<2H", head, 54, size, len(kinds))
    return bytes(head) + b"".join(struct.pack("<I", kind).ljust(size, b"\0") for kind in kinds)


def program(folder: Path, content: bytes, mode: int = 0o755) -> str:
    path = folder / "program"
    path.write_bytes(content)
    path.chmod(mode)
    return str(path)


def test_a_dynamically_linked_program_can(tmp_path: Path) -> None:
    check_program(program(tmp_path, elf(6, 3, 1)))
    check_program(program(tmp_path, elf(1, 1, 3)))
    check_program(program(tmp_path, elf(1, 3, size=64)))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (elf(1, 2, 6), "is linked statically"),
        (elf(), "is linked statically"),
        # The kind is the first number of a header.
        (elf(1)[:-4] + struct.pack("<I", 3), "is linked statically"),
        (elf(3, machine=183), "is for another kind of processor"),
        (elf(3, form=b"\x01\x01"), "is for another kind of processor"),
    ],
)
def test_others_say_why_they_cannot(tmp_path: Path, content: bytes, reason: str) -> None:
    with pytest.raises(NumascapeError, match=reason):
        check_program(program(tmp_path, content))


@pytest.mark.parametrize(
    "content", [b"#!/bin/sh\n", b"#!/usr/bin/env python3\n", b"#!\n", b"\x7fELF", b"", b"MZ" * 40]
)
def test_scripts_and_unknown_formats_are_left_to_the_kernel(tmp_path: Path, content: bytes) -> None:
    check_program(program(tmp_path, content))


@pytest.mark.parametrize("mode", [0o4755, 0o2755])
def test_programs_with_more_rights_than_their_user_cannot(tmp_path: Path, mode: int) -> None:
    with pytest.raises(NumascapeError, match="with the rights of another user or group"):
        check_program(program(tmp_path, elf(3), mode))
    interpreter = tmp_path / "interpreter"
    interpreter.write_bytes(elf(3))
    interpreter.chmod(mode)
    with pytest.raises(NumascapeError, match="interpreter runs with the rights"):
        check_program(program(tmp_path, f"#! {interpreter} -x\n".encode()))


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(NumascapeError, match="no-such-program cannot be run: there is no such"):
        check_program("no-such-program")
