# SPDX-License-Identifier: Apache-2.0
"""Libraries whose hash table of symbols patchelf moved, as in many wheels of Python."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

from integration.attaching import COMMAND

PAGE = 4096
PT_LOAD, PT_DYNAMIC, PT_NOTE = 1, 2, 4
DT_GNU_HASH = 0x6FFFFEF5
# Fields of Elf64_Phdr: type, flags, offset, address, physical address, bytes in file, bytes, align.
SEGMENT = "<IIQQQQQQ"


def moved(library: Path, to: Path) -> Path:
    """A copy of the library with its hash table in a segment of its own.

    The segment's offset in the file is not its address. While the whole file is mapped at once,
    other bytes are at this address. A note of the library is lost, because the segment needs its
    place among the program headers.
    """
    file = bytearray(library.read_bytes())
    (first,) = struct.unpack_from("<Q", file, 32)
    (number,) = struct.unpack_from("<H", file, 56)
    places = [first + i * struct.calcsize(SEGMENT) for i in range(number)]
    segments = {place: struct.unpack_from(SEGMENT, file, place) for place in places}
    loaded = [s for s in segments.values() if s[0] == PT_LOAD]
    (dynamic,) = (s for s in segments.values() if s[0] == PT_DYNAMIC)
    note = max(place for place, s in segments.items() if s[0] == PT_NOTE)
    entry = next(
        at
        for at in range(dynamic[2], dynamic[2] + dynamic[5], 16)
        if struct.unpack_from("<Q", file, at)[0] == DT_GNU_HASH
    )
    (table,) = struct.unpack_from("<Q", file, entry + 8)
    # Addresses and offsets are the same in the first segment, which has the table.
    assert table < loaded[0][2] + loaded[0][5]
    content = file[table : table + PAGE]
    offset = -(-len(file) // PAGE) * PAGE
    address = -(-max(offset, *(s[3] + s[6] for s in loaded)) // PAGE) * PAGE + 2 * PAGE
    file += bytes(offset - len(file)) + content
    file += b"\x41" * (address + 4 * PAGE - len(file))
    struct.pack_into(
        SEGMENT, file, note, PT_LOAD, 4, offset, address, address, len(content), len(content), PAGE
    )
    struct.pack_into("<Q", file, entry + 8, address)
    to.write_bytes(file)
    return to


def test_symbols_are_looked_up_when_the_table_is_there(programs: Path, tmp_path: Path) -> None:
    library = moved(programs / "libplugin.so", tmp_path / "libmoved.so")
    words = ("env", f"LD_PRELOAD={library}", "echo", "words")
    by_itself = subprocess.run(words, capture_output=True, text=True, check=True)
    assert (by_itself.stdout, by_itself.stderr) == ("words\n", "")
    recorded = subprocess.run(
        [COMMAND, "record", "-q", "-o", tmp_path / "t", "--", *words],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (recorded.stdout, recorded.returncode) == ("words\n", 0), recorded.stderr
