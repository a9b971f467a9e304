# SPDX-License-Identifier: Apache-2.0
"""The installation by `pip install .` is complete without the checkout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from quality.external import ROOT, expect_success


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package installed from a wheel into a folder of its own."""
    target = tmp_path_factory.mktemp("installed")
    command = ["install", "--quiet", "--no-build-isolation", "--no-deps", "--target"]
    subprocess.run(
        [sys.executable, "-m", "pip", *command, target, ROOT],
        check=True,
        stdin=subprocess.DEVNULL,
    )
    return target


def test_the_package_has_what_was_built(installed: Path) -> None:
    package = installed / "numascape"
    names = [
        "py.typed",
        "report/viewer.html",
        "include/numascape/segmented_vector.hpp",
        "single_include/numascape.hpp",
        "share/cmake/numascape/numascape-config.cmake",
        "_recorder/lib64/release/libdynamorio.so",
        "_recorder/ext/lib64/release/libdrmgr.so",
        "_recorder/DynamoRIO-License.txt",
        "_recorder/libnumascape_runtime.so",
        "_recorder/numascape-faults",
        "_compiler/numascape_pass.so",
        "_compiler/numascape-stub.o",
        "_machine/topology-reader",
        "_machine/probe",
        "_host/hold",
        "_host/file-pages",
        "_host/triad",
        "_host/bound-run",
        "_placer/libnumascape_placer.so",
        "machines/numa16.json",
        "include/numascape/balance.h",
        "lib/libnumascape_balance.so",
    ]
    assert [name for name in names if not (package / name).is_file()] == []
    assert len(list(package.glob("_native*.so"))) == 1
    assert not list(installed.rglob("*.cpp"))


def test_what_is_loaded_into_programs_runs_on_older_systems(installed: Path) -> None:
    """The wheel is for glibc 2.34; auditwheel checks its other libraries."""
    for name in ("_placer/libnumascape_placer.so", "_recorder/libnumascape_runtime.so"):
        symbols = subprocess.run(
            ["objdump", "-T", installed / "numascape" / name],
            capture_output=True,
            text=True,
            check=True,
        )
        minors = {int(minor) for minor in re.findall(r"GLIBC_2\.(\d+)", symbols.stdout)}
        assert minors
        assert max(minors) <= 34, name


def test_one_build_serves_every_python(installed: Path) -> None:
    assert (installed / "numascape/_native.abi3.so").is_file()


def test_a_project_finds_the_headers_of_the_package(installed: Path, tmp_path: Path) -> None:
    consumer = ROOT / "tests/unit/containers/consumer"
    found_in = f"-DCMAKE_PREFIX_PATH={installed / 'numascape'}"
    expect_success("cmake", "-S", consumer, "-B", tmp_path, "-G", "Ninja", found_in)
    expect_success("cmake", "--build", tmp_path)
    for program in ("consumer", "single"):
        subprocess.run([tmp_path / program], check=True, timeout=300)


def test_the_package_runs_without_the_checkout(installed: Path, tmp_path: Path) -> None:
    # Isolated from the editable installation, which -S leaves out; libraries come by their path.
    libraries = [path for path in sys.path if path.endswith("site-packages")]
    result = subprocess.run(
        [sys.executable, "-S", "-c", "import numascape, numascape._native as n; "
         "print(numascape.__file__, n.__file__)"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(installed), *libraries])},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )  # fmt: skip
    assert all(path.startswith(str(installed)) for path in result.stdout.split())
