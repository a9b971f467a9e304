# SPDX-License-Identifier: Apache-2.0
"""The wheel works in bare systems, for a user without privileges and without a compiler."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from bare_system import System, make_system

ROOT = Path(__file__).parents[2]
_MIB = 1 << 20

# pip takes wheels with any of these tags. They run with glibc 2.34, as our wheel does.
_PLATFORMS = [
    *(f"manylinux_2_{minor}_x86_64" for minor in range(34, 16, -1)),
    "manylinux2014_x86_64",
]


def _wheel() -> Path:
    """Return the wheel that packaging/wheel/build made."""
    (path,) = (ROOT / "dist").glob("numascape-*.whl")
    return path


@pytest.fixture(scope="session", params=["bookworm", "trixie"])
def system(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[System]:
    """Make a system that has Python, pip and nothing else."""
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        pytest.skip("needs root and the package debootstrap")
    folder = tmp_path_factory.mktemp(request.param)
    system = make_system(request.param, folder)
    _download(system)
    for program in ("matmul", "seismic"):
        shutil.copy(ROOT / "examples/build" / program, system.home)
    yield system
    shutil.rmtree(folder)


def _download(system: System) -> None:
    """Put the wheel, and the wheels that it needs, into the user's folder `wheels`."""
    version = system.run("python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])")
    platforms = [part for name in _PLATFORMS for part in ("--platform", name)]
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:",
         "--python-version", version.stdout.strip(), *platforms,
         "-d", system.home / "wheels", _wheel()],
        check=True,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


def test_the_wheel_is_small_and_says_what_is_in_it() -> None:
    assert _wheel().name.endswith("-cp310-abi3-manylinux_2_34_x86_64.whl")
    assert _wheel().stat().st_size < 60 * _MIB
    with zipfile.ZipFile(_wheel()) as archive:
        names = set(archive.namelist())
    assert "numascape/_recorder/DynamoRIO-License.txt" in names
    added = {name.split("/")[1] for name in names if name.startswith("numascape.libs/lib")}
    licences = {name.split("/")[-1] for name in names if name.startswith("numascape/_licenses/")}
    for library in ("bz2", "dw", "elf", "hwloc", "lzma", "metis", "scotch", "udev"):
        assert any(name.startswith(f"lib{library}-") for name in added), library
        assert any(name.startswith(f"lib{library}") for name in licences), library


def test_nothing_in_the_wheel_depends_on_the_folder_of_the_build(tmp_path: Path) -> None:
    with zipfile.ZipFile(_wheel()) as archive:
        archive.extractall(tmp_path)
    files = [path for path in (tmp_path / "numascape").rglob("*") if path.is_file()]
    assert [path for path in files if os.fsencode(ROOT) in path.read_bytes()] == []
    binaries = [path for path in files if path.read_bytes().startswith(b"\x7fELF")]
    assert len(binaries) > 10
    for path in binaries:
        sections = subprocess.run(
            ["readelf", "--sections", "--wide", path], capture_output=True, text=True, check=True
        ).stdout
        # Both are made from debug information, which names the folder of the sources.
        for section in (".note.gnu.build-id", ".gnu_debuglink"):
            assert section not in sections, f"{path}: {section}"


def test_a_user_records_reports_and_runs_a_plan(system: System) -> None:
    for compiler in ("gcc", "cc", "clang"):
        assert system.run("sh", "-c", f"command -v {compiler}", check=False).returncode != 0
    system.run("python3", "-m", "venv", "venv")
    system.run("venv/bin/pip", "install", "--no-index", "--find-links", "wheels", "numascape")
    numascape = "venv/bin/numascape"
    record = system.run(
        numascape, "record", "-o", "m.numascape", "--", "./matmul", "-n", "128", "naive"
    )
    assert "result correct" in record.stdout
    structures = pl.read_parquet(system.home / "m.numascape/structures.parquet")
    accesses = pl.read_parquet(system.home / "m.numascape/accesses.parquet")
    assert "heap" in structures["kind"].to_list()
    # In the loops alone, 128 x 128 x 128 elements of B are read.
    assert accesses["reads"].sum() >= 128**3
    system.run(numascape, "report", "m.numascape", "-o", "m.html")
    assert (system.home / "m.html").read_text().startswith("<!doctype html>")
    advice = system.run(
        numascape, "advise", "m.numascape", "--machine", "numa16", "-o", "plan.toml"
    )
    assert "Cause:" in advice.stdout
    faults = (
        "record",
        "--recorder",
        "faults",
        "-o",
        "f.numascape",
        "--",
        "./matmul",
        "-n",
        "128",
        "naive",
    )
    assert "result correct" in system.run(numascape, *faults).stdout
    # A plan for the one node that every machine has: it is applied, and the result is the same.
    reads = accesses.group_by("structure").agg(pl.col("reads").sum())
    heap = structures.filter(kind="heap").join(reads, on="structure")
    matrix = heap.sort("reads", descending=True).row(0, named=True)
    (system.home / "local.toml").write_text(
        'format = "numascape-plan"\nversion = 1\n\n'
        f'[[structures]]\nname = "{matrix["name"]}"\npolicy = "bind"\nnodes = [0]\n'
    )
    plan = ("run", "--plan", "local.toml", "--json", "placed.json")
    run = system.run(numascape, *plan, "--", "./matmul", "-n", "128", "naive")
    assert "result correct" in run.stdout
    placed = json.loads((system.home / "placed.json").read_text())
    (part,) = placed["structures"]
    assert part["right"] >= 128 * 128 * 8 // 4096
    assert (part["name"], part["nodes"]) == (matrix["name"], {"0": part["right"]})


def test_every_command_has_a_man_page(system: System) -> None:
    for command in (
        "numascape",
        "numascape-record",
        "numascape-cc",
        "numascape-c++",
        "numascape-fc",
    ):
        assert (system.home / f"venv/share/man/man1/{command}.1").is_file()


def test_what_needs_a_compiler_says_which(system: System) -> None:
    (system.home / "a.c").write_text("int main(void) { return 0; }\n")
    compiled = system.run("venv/bin/numascape-cc", "a.c", "-o", "a", check=False)
    assert compiled.returncode == 2
    assert "clang-19" in compiled.stdout
