# SPDX-License-Identifier: Apache-2.0
"""The recipes of other package managers say the same as the package itself.

Spack and Apptainer are not on the machines where tests run: these tests compare the texts.
"""

from __future__ import annotations

import ast
import re

import pytest
import tomlkit

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
    linked = [ast.literal_eval(loop.iter) for loop in loops if isinstance(loop.iter, ast.Tuple)]
    assert linked == [tuple(PROJECT["scripts"])]


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
