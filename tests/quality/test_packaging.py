# SPDX-License-Identifier: Apache-2.0
"""The recipes for other package managers agree with the package itself.

Spack and Apptainer are not on the machines where tests run: these tests compare the texts.
"""

from __future__ import annotations

import ast
import base64
import hashlib
import json
import re
import zipfile
from pathlib import Path

import pytest
import tomlkit
from release_check import problems
from sbom import add, bill_of_materials
from seccomp_profile import CALLS, allow

from quality.external import ROOT

SPACK = ROOT / "packaging/spack/spack_repo/numascape"
CONTAINERS = ROOT / "packaging/container"
PROJECT = tomlkit.parse((ROOT / "pyproject.toml").read_text()).unwrap()["project"]


@pytest.fixture(scope="module")
def recipe() -> ast.Module:
    return ast.parse((SPACK / "packages/numascape/package.py").read_text())


def directives(recipe: ast.Module, name: str) -> dict[str, str]:
    """The first word of each call of this directive, with the text of the call."""
    calls = [node for node in ast.walk(recipe) if isinstance(node, ast.Call)]
    return {
        str(ast.literal_eval(call.args[0])): ast.unparse(call)
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id == name
    }


def test_spack_finds_the_recipe_by_its_folders(recipe: ast.Module) -> None:
    assert f"namespace: {SPACK.name}" in (SPACK / "repo.yaml").read_text()
    assert SPACK.parent.name == "spack_repo"
    (package,) = [node for node in recipe.body if isinstance(node, ast.ClassDef)]
    assert package.name.lower() == "numascape"


def test_spack_builds_the_clone_that_has_the_recipe(recipe: ast.Module) -> None:
    (levels,) = re.findall(r"__file__\).resolve\(\).parents\[(\d+)\]", ast.unparse(recipe))
    assert (SPACK / "packages/numascape/package.py").parents[int(levels)] == ROOT


def test_variants_of_the_spack_package_are_extras_and_the_compiler(recipe: ast.Module) -> None:
    assert set(directives(recipe, "variant")) == {"compiled", "mpi", "charm"}
    assert {"mpi", "charm"} <= set(PROJECT["optional-dependencies"])
    needed = directives(recipe, "depends_on")
    (python,) = [one for one in needed if one.startswith("python@")]
    assert PROJECT["requires-python"] == f">={python.removeprefix('python@').rstrip(':')}"
    plugin = (ROOT / "src/native/llvm-pass/CMakeLists.txt").read_text()
    (llvm,) = [one for one in needed if one.startswith("llvm@")]
    assert f"find_package(LLVM {llvm[5:7]}." in plugin
    assert "+compiled" in needed[llvm]


def test_the_spack_package_has_all_commands_of_numascape(recipe: ast.Module) -> None:
    loops = [node for node in ast.walk(recipe) if isinstance(node, ast.For)]
    (linked,) = [loop.iter for loop in loops if ast.unparse(loop.target) == "command"]
    assert ast.literal_eval(linked) == tuple(PROJECT["scripts"])


@pytest.mark.parametrize("name", ["Containerfile", "Apptainer.def"])
def test_both_images_are_made_in_the_same_way(name: str) -> None:
    text = (CONTAINERS / name).read_text()
    (packages,) = re.findall(r"apt-get install -y --no-install-recommends (.*?)(?: &&|\n)", text)
    assert packages.removesuffix(" \\").split() == ["python3", "python3-venv"]
    assert "/opt/numascape/bin/pip install --no-cache-dir /wheels/numascape-*.whl" in text
    assert "debian:12-slim" in text


def test_the_apptainer_image_has_only_sections_that_apptainer_knows() -> None:
    text = (CONTAINERS / "Apptainer.def").read_text()
    sections = re.findall(r"^%(\w+)", text, re.MULTILINE)
    assert sections == ["files", "post", "environment", "runscript", "test", "help"]


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A copy of the files that have the version, ready for the release 0.1.0."""
    for name in ("pyproject.toml", "CITATION.cff", "CHANGELOG.md"):
        text = (ROOT / name).read_text()
        (tmp_path / name).write_text(text.replace("0.1.0, not released yet", "0.1.0, 2026-12-01"))
    with (tmp_path / "CITATION.cff").open("a") as citation:
        citation.write("date-released: 2026-12-01\n")
    return tmp_path


def test_a_release_has_one_version_everywhere(sources: Path) -> None:
    assert problems("v0.1.0", sources) == []
    assert problems("v0.2.0", sources) == [
        "the tag is v0.2.0, but pyproject.toml has version 0.1.0"
    ]
    for name in ("CITATION.cff", "CHANGELOG.md"):
        text = (sources / name).read_text()
        (sources / name).write_text(text.replace("0.1.0", "0.0.9"))
        assert [line for line in problems("v0.1.0", sources) if name in line]


def test_a_release_has_one_date_everywhere(sources: Path) -> None:
    path = sources / "CITATION.cff"
    path.write_text(path.read_text().replace("2026-12-01", "2026-11-30"))
    assert problems("v0.1.0", sources) == [
        "CITATION.cff has another date-released than CHANGELOG.md, which has 2026-12-01"
    ]


def test_a_tag_of_unreleased_changes_is_refused() -> None:
    version = PROJECT["version"]
    changes = (ROOT / "CHANGELOG.md").read_text()
    assert bool(problems(f"v{version}")) == (f"## {version}, not released yet" in changes)
    workflow = (ROOT / ".github/workflows/release.yml").read_text()
    for command in ("packaging/release/release_check.py", ".ci/run", "make wheel", "make docs"):
        assert f"- run: {'python3 ' * command.endswith('.py')}{command}" in workflow


def test_the_list_of_parts_is_in_the_wheel_and_in_its_record(tmp_path: Path) -> None:
    wheel = tmp_path / "numascape-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("numascape/__init__.py", "")
        archive.writestr("numascape-0.1.0.dist-info/RECORD", "numascape/__init__.py,,\nRECORD,,\n")
    document = bill_of_materials({"DynamoRIO": "11.90.1"})
    add(wheel, document)
    once = wheel.read_bytes()
    add(wheel, document)
    assert wheel.read_bytes() == once
    with zipfile.ZipFile(wheel) as archive:
        content = archive.read("numascape-0.1.0.dist-info/sboms/numascape.cdx.json")
        record = archive.read("numascape-0.1.0.dist-info/RECORD").decode()
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
    assert f"sboms/numascape.cdx.json,sha256={digest},{len(content)}\n" in record
    assert record.count("numascape.cdx.json") == 1
    components = {part["name"]: part for part in json.loads(content)["components"]}
    assert {"DynamoRIO", "preact", "polars"} <= set(components)
    assert "typescript" not in components


def test_python_packages_in_the_list_of_parts_have_their_requirement_and_version() -> None:
    constraints = (ROOT / "constraints.txt").read_text().lower().splitlines()
    by_name = {part["name"]: part for part in bill_of_materials({"DynamoRIO": "11"})["components"]}
    for requirement in PROJECT["dependencies"]:
        part = by_name[re.split(r"[>;]", requirement)[0].strip()]
        assert part["properties"] == [{"name": "numascape:requirement", "value": requirement}]
        if part["name"] != "tomli":  # for Python 3.10, which constraints.txt is not about
            assert f"{part['name']}=={part['version']}" in constraints
            assert part["purl"] == f"pkg:pypi/{part['name']}@{part['version']}"


def test_the_seccomp_profile_has_the_calls_once_and_keeps_other_rules() -> None:
    rules = [
        {"names": ["kexec_load", "move_pages"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1},
        {"names": ["mbind"], "action": "SCMP_ACT_ALLOW", "includes": {"caps": ["CAP_SYS_NICE"]}},
        {"names": ["read", "write"], "action": "SCMP_ACT_ALLOW"},
    ]
    made = allow({"defaultAction": "SCMP_ACT_ERRNO", "syscalls": rules})
    assert made == {
        "defaultAction": "SCMP_ACT_ERRNO",
        "syscalls": [
            {"names": ["kexec_load"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1},
            rules[2],
            {"names": list(CALLS), "action": "SCMP_ACT_ALLOW"},
        ],
    }


@pytest.mark.parametrize("name", ["Containerfile", "Apptainer.def"])
def test_images_let_cmake_find_the_headers(name: str) -> None:
    text = (CONTAINERS / name).read_text()
    assert "CMAKE_PREFIX_PATH=/opt/numascape/cmake" in text
    assert "site-packages/numascape /opt/numascape/cmake" in text
