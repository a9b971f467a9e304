# SPDX-License-Identifier: Apache-2.0
"""The Debian package works in a bare system, for a user without privileges."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bare_system import System, make_system

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """A system of this machine's release, with the package installed by apt."""
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        pytest.skip("needs root and the package debootstrap")
    release = dict(
        line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if line
    )["VERSION_CODENAME"]
    folder = tmp_path_factory.mktemp("deb")
    system = make_system(release.strip('"'), folder)
    (package,) = (ROOT / "dist").glob("numascape_*.deb")
    shutil.copy(package, system.root / "numascape.deb")
    as_root = ["chroot", str(system.root)]
    subprocess.run([*as_root, "dpkg", "--install", "/numascape.deb"], check=True)
    shutil.copy(ROOT / "examples/build/matmul", system.home)
    yield system
    shutil.rmtree(folder)


def test_a_user_records_and_reports(system: System) -> None:
    arguments = ("-o", "m.numascape", "--", "./matmul", "-n", "128", "naive")
    assert "result correct" in system.run("numascape", "record", *arguments).stdout
    system.run("numascape", "report", "m.numascape", "-o", "m.html")
    assert (system.home / "m.html").read_text().startswith("<!doctype html>")
    assert "Cause:" in system.run("numascape", "advise", "m.numascape").stdout


def test_python_code_is_compiled_once_and_removed_with_the_package(system: System) -> None:
    home = system.root / "usr/lib/numascape"
    assert list(home.glob("lib/python3*/site-packages/numascape/cli/__pycache__/entry.*.pyc"))
    subprocess.run(["chroot", system.root, "dpkg", "--purge", "numascape"], check=True)
    assert not home.exists()
    subprocess.run(["chroot", system.root, "dpkg", "--install", "/numascape.deb"], check=True)


def test_man_pages_completion_and_headers_are_where_debian_has_them(system: System) -> None:
    share = system.root / "usr/share"
    for page in ("numascape", "numascape-record", "numascape-cc", "numascape-fc"):
        assert (share / f"man/man1/{page}.1.gz").is_file()
    assert "numascape" in (share / "bash-completion/completions/numascape").read_text()
    include = system.run("sh", "-c", "ls /usr/include/numascape/").stdout
    assert "phase.h" in include.split()
    cmake = system.run("sh", "-c", "ls /usr/share/cmake/numascape/").stdout
    assert "numascapeConfig.cmake" in cmake or "numascape-config.cmake" in cmake


def test_nothing_names_the_folder_where_it_was_built(system: System) -> None:
    home = system.root / "usr/lib/numascape"
    texts = [*(home / "bin").glob("numascape*"), home / "pyvenv.cfg"]
    for path in texts:
        assert str(ROOT) not in path.read_text(), path
