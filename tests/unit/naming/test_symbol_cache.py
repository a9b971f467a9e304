# SPDX-License-Identifier: Apache-2.0
"""Data that was read from a file is kept, and used only while the file is unchanged."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from functools import cache as cache_results
from pathlib import Path

import polars as pl
import pytest

from numascape._native.symbols import Module, Symbols
from numascape.conversion.symbol_cache import limit_size, limited, symbol_cache

_SOURCE = """
double table[1000];
static int hidden[4];
static inline double twice(double x) { return table[3] + 2 * x; }
double work(double x) { hidden[1] = 1; return twice(x) + twice(x + 1) + hidden[2]; }
"""
_LOADED = 0x7F00_0000_0000
_ELSEWHERE = 0x7E12_3450_0000


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A library with a build ID, and its debug information in another file."""
    source = tmp_path / "work.c"
    source.write_text(_SOURCE)
    path = tmp_path / "libwork.so"
    flags = ["-g", "-O2", "-shared", "-fPIC", "-Wl,--build-id"]
    subprocess.run(["gcc", *flags, "-o", path, source], check=True)
    debug = path.with_suffix(".so.debug")
    subprocess.run(["objcopy", "--only-keep-debug", path, debug], check=True)
    subprocess.run(["objcopy", "--strip-debug", f"--add-gnu-debuglink={debug}", path], check=True)
    return path


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    return folder


@cache_results
def _address_of_work(library: Path) -> int:
    listed = subprocess.run(["nm", "-D", library], check=True, capture_output=True, text=True)
    line = next(line for line in listed.stdout.splitlines() if line.endswith(" work"))
    return int(line.split()[0], 16)


def what_is_read(library: Path, cache: Path | None, at: int = _LOADED) -> list[object]:
    """All data that Symbols has about the library, in addresses of its file."""
    symbols = Symbols(
        [Module(str(library), at, at + (1 << 20), at)], "" if cache is None else str(cache)
    )
    work = at + _address_of_work(library)
    found: list[object] = [
        (g.name, g.address - at, g.size, g.file, g.line, g.module, g.function, g.points_to_data)
        for g in symbols.globals()
    ]
    for pc in range(work, work + 48):
        found += [
            (f.function, f.file, f.line, f.column, f.offset, f.inlined, f.entry_line, f.module)
            for f in symbols.frames(pc)
        ]
    pcs = pl.DataFrame({"pc": range(work, work + 48)}, schema={"pc": pl.UInt64()})
    places = symbols.places(pcs, lambda *_: False)
    found += [
        places["texts"],
        *(pl.DataFrame(places[name]).rows() for name in ("numbers", "places")),
    ]
    symbols.save()
    return found


def only_file(cache: Path) -> Path:
    (file,) = cache.iterdir()
    return file


def test_it_is_the_same_from_the_cache_at_any_address(library: Path, cache: Path) -> None:
    read = what_is_read(library, None)
    assert ("table", 8000) in {(row[0], row[2]) for row in read if isinstance(row, tuple)}
    assert what_is_read(library, cache) == read
    assert what_is_read(library, cache) == read
    assert what_is_read(library, cache, _ELSEWHERE) == read
    assert only_file(cache).stat().st_mode & 0o777 == 0o600


def test_the_debug_information_is_not_read_again(library: Path, cache: Path) -> None:
    read = what_is_read(library, cache)
    debug = library.with_suffix(".so.debug")
    times = debug.stat()
    debug.write_bytes(bytes(times.st_size))
    os.utime(debug, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert what_is_read(library, None) != read
    assert what_is_read(library, cache) == read


def test_one_new_address_is_kept_too(library: Path, cache: Path) -> None:
    """Otherwise the debug information would be read for it in each recording."""
    module = Module(str(library), _LOADED, _LOADED + (1 << 20), _LOADED)
    work = _LOADED + _address_of_work(library)
    new = work + 20

    def lines_at(pcs: list[int]) -> list[tuple[str, int]]:
        symbols = Symbols([module], str(cache))
        symbols.globals()
        found = [(frame.function, frame.line) for pc in pcs for frame in symbols.frames(pc)]
        symbols.save()
        return found

    lines_at([pc for pc in range(work, work + 48) if pc != new])
    read = lines_at([new])
    assert all(line > 0 for _, line in read)
    debug = library.with_suffix(".so.debug")
    times = debug.stat()
    debug.write_bytes(bytes(times.st_size))
    os.utime(debug, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert lines_at([new]) == read


def test_few_addresses_without_lines_are_kept(library: Path, cache: Path, tmp_path: Path) -> None:
    """A large program has hundreds of thousands of them. Their symbols are read again."""
    plain, source, both = tmp_path / "plain.c", tmp_path / "work.c", tmp_path / "libboth.so"
    plain.write_text('void plain_function(void) { __asm__(".fill 20000, 1, 0x90"); }')
    subprocess.run(["gcc", "-c", "-fPIC", "-o", tmp_path / "plain.o", plain], check=True)
    command: list[str | Path] = [
        "gcc",
        "-g",
        "-O2",
        "-shared",
        "-fPIC",
        "-o",
        both,
        source,
        tmp_path / "plain.o",
    ]
    subprocess.run(command, check=True)
    listed = subprocess.run(["nm", both], check=True, capture_output=True, text=True).stdout
    words = [line.split() for line in listed.splitlines()]
    address = {line[2]: _LOADED + int(line[0], 16) for line in words if len(line) == 3}
    sizes = []
    for count in (100, 20000, 20000):
        symbols = Symbols([Module(str(both), _LOADED, _LOADED + (1 << 20), _LOADED)], str(cache))
        assert symbols.frames(address["work"])[-1].line > 0
        for offset in range(count):
            (found,) = symbols.frames(address["plain_function"] + offset)
            assert (found.function, found.offset, found.line) == ("plain_function", offset, 0)
        symbols.save()
        content = only_file(cache).read_bytes()
        assert b"plain_function" in content
        sizes.append(len(content))
    assert sizes[0] < sizes[1] == sizes[2] < 20000 * 40


def test_other_debug_information_is_read_although_the_build_id_is_the_same(
    library: Path, cache: Path
) -> None:
    with_debug = what_is_read(library, cache)
    library.with_suffix(".so.debug").unlink()
    without = what_is_read(library, cache)
    assert without == what_is_read(library, None) != with_debug


def damages(content: bytes) -> Iterator[bytes]:
    for length in (0, 1, 63, 64, len(content) // 2, len(content) - 1):
        yield content[:length]
    for at in range(0, len(content), max(1, len(content) // 40)):
        yield content[:at] + bytes([content[at] ^ 0x5A]) + content[at + 1 :]
    yield content + b"more"


def test_damaged_files_are_ignored(library: Path, cache: Path) -> None:
    read = what_is_read(library, cache)
    file = only_file(cache)
    for damaged in damages(file.read_bytes()):
        file.write_bytes(damaged)
        assert what_is_read(library, cache) == read


def test_files_that_others_could_have_written_are_ignored(
    library: Path, cache: Path, tmp_path: Path
) -> None:
    what_is_read(library, cache)
    file = only_file(cache)
    debug = library.with_suffix(".so.debug")
    times = debug.stat()
    debug.write_bytes(bytes(times.st_size))
    os.utime(debug, ns=(times.st_atime_ns, times.st_mtime_ns))
    without = what_is_read(library, None)
    content = file.read_bytes()
    file.chmod(0o666)
    assert what_is_read(library, cache) == without
    kept = tmp_path / "kept"
    kept.write_bytes(content)
    kept.chmod(0o600)
    file.unlink()
    file.symlink_to(kept)
    assert what_is_read(library, cache) == without
    assert not file.is_symlink(), "it is replaced"
    assert kept.read_bytes() == content


def test_a_folder_that_cannot_be_written_changes_nothing(library: Path, tmp_path: Path) -> None:
    assert what_is_read(library, tmp_path / "missing") == what_is_read(library, None)


def test_the_least_recently_used_files_are_removed(cache: Path) -> None:
    for age, name in enumerate(["new", "old", "oldest"]):
        (cache / name).write_bytes(bytes(100))
        os.utime(cache / name, (1000 - age, 1000 - age))
    limit_size(cache, 300)
    assert len(list(cache.iterdir())) == 3
    limit_size(cache, 150)
    assert [file.name for file in cache.iterdir()] == ["new"]
    limit_size(cache / "missing", 0)


def test_the_size_is_looked_at_only_if_a_file_was_added(cache: Path) -> None:
    for age, name in enumerate(["new", "old"]):
        (cache / name).write_bytes(bytes(100))
        os.utime(cache / name, (1000 - age, 1000 - age))
    os.utime(cache, (1000, 1000))
    with limited(cache, 150):
        assert (cache / "old").read_bytes() == bytes(100), "it is used"
    assert sorted(file.name for file in cache.iterdir()) == ["new", "old"]
    with limited(cache, 150):
        (cache / "newest").write_bytes(bytes(100))
    assert [file.name for file in cache.iterdir()] == ["newest"]
    with limited(cache / "missing"), limited(None):
        pass


def test_where_the_folder_is(tmp_path: Path) -> None:
    home, other = str(tmp_path / "home"), str(tmp_path / "other")
    assert symbol_cache({"HOME": home}) == tmp_path / "home/.cache/numascape/symbols"
    assert symbol_cache({"HOME": home, "XDG_CACHE_HOME": other}) == (
        tmp_path / "other/numascape/symbols"
    )
    assert symbol_cache({"HOME": home, "NUMASCAPE_CACHE": other}) == tmp_path / "other/symbols"
    assert symbol_cache({"HOME": home, "NUMASCAPE_CACHE": ""}) is None
    assert symbol_cache({}) is None


def test_a_folder_that_others_can_write_to_is_not_used(tmp_path: Path) -> None:
    folder = tmp_path / "symbols"
    folder.mkdir()
    folder.chmod(0o777)
    assert symbol_cache({"NUMASCAPE_CACHE": str(tmp_path)}) is None
    folder.rmdir()
    folder.write_text("no folder")
    assert symbol_cache({"NUMASCAPE_CACHE": str(tmp_path)}) is None
