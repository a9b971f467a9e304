# SPDX-License-Identifier: Apache-2.0
"""Imports go in one direction, in all three languages; ARCHITECTURE.md has the order.

Folders are listed from the lowest to the highest. A file imports only from its own folder and from
those before it, also for types. So no folders import each other in a circle.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from quality.external import ROOT
from quality.imports import (
    FACES,
    imported_names,
    included_headers,
    native_imports,
    python_imports,
    used_targets,
)

PACKAGE = ROOT / "src" / "numascape"
NATIVE = ROOT / "src" / "native"
VIEWER = ROOT / "src" / "viewer" / "src"


def documented_order(begin: str) -> list[str]:
    """The names in backticks in the paragraph of ARCHITECTURE.md with this beginning."""
    paragraphs = re.split(r"\n\n|\n(?=- )", (ROOT / "ARCHITECTURE.md").read_text())
    (found,) = [text for text in paragraphs if text.startswith(begin)]
    return re.findall(r"`([\w/-]+)`", found.removeprefix(begin).split(". ")[0])


def viewer_imports() -> Iterator[tuple[str, str, str]]:
    for path in sorted([*VIEWER.rglob("*.ts"), *VIEWER.rglob("*.tsx")]):
        if path.parent == VIEWER:
            continue
        folder = str(path.parent.relative_to(VIEWER))
        for name in re.findall(r'from "(\.[^"]+)"', path.read_text()):
            imported = (path.parent / name).resolve().parent.relative_to(VIEWER)
            yield folder, str(imported), str(path.relative_to(ROOT))


IMPORTS: dict[str, Callable[[], Iterator[tuple[str, str, str]]]] = {
    "- Python packages:": lambda: python_imports(ROOT),
    "- Native code:": lambda: native_imports(ROOT),
    "- The viewer:": viewer_imports,
}


@pytest.mark.parametrize("begin", IMPORTS)
def test_imports_point_one_way(begin: str) -> None:
    order = documented_order(begin)
    imports = list(IMPORTS[begin]())
    assert len(imports) > len(order) > 5
    number: dict[str, float] = {folder: i for i, folder in enumerate(order)}
    if begin == "- Python packages:":
        beside = {path.stem for path in PACKAGE.glob("*.py")} - FACES
        number |= dict.fromkeys(beside, number["_native"] + 0.5)
    unknown = {name for one in imports for name in one[:2]} - number.keys()
    assert unknown == set(), f"without a place in the order of ARCHITECTURE.md: {unknown}"
    wrong = {
        f"{path}: {folder} imports {imported}"
        for folder, imported, path in imports
        if number[imported] > number[folder]
    }
    assert wrong == set()


def test_all_folders_have_a_place_in_the_order() -> None:
    for begin, root in (("- Python packages:", PACKAGE), ("- Native code:", NATIVE)):
        folders = {path.name for path in root.iterdir() if path.is_dir()}
        order = documented_order(begin)
        assert folders - {"__pycache__"} == set(order)
        assert len(order) == len(set(order))


def test_imports_of_each_kind_are_found() -> None:
    """Imports of headers in assembly, of targets and files in CMake, and of the bindings."""
    stub = "src/native/compiled-recorder/arch/x86_64/hooks.S"
    assert any(path == stub for _, _, path in included_headers(ROOT))
    shard = "src/native/shard/CMakeLists.txt"
    assert {used for _, used, path in used_targets(ROOT) if path == shard} >= {"cache-model", "os"}
    assert ("recorders", "_native") in {(one, other) for one, other, _ in python_imports(ROOT)}


def test_files_of_python_do_not_import_each_other_in_a_circle() -> None:
    """This also holds inside a package, for types, and for imports inside a function."""
    modules = {module_name(path): path for path in PACKAGE.rglob("*.py")}
    imports = {
        name: {module_of(imported, modules) for imported in imported_names(path)} - {name, ""}
        for name, path in modules.items()
    }
    assert "numascape.jobs.task" in imports["numascape.jobs.engines"]
    assert circle(imports) == ""


def test_files_of_the_viewer_do_not_import_each_other_in_a_circle() -> None:
    files = [*VIEWER.rglob("*.ts"), *VIEWER.rglob("*.tsx")]
    names = {str(path.with_suffix("")): path for path in files}
    imports = {
        name: {
            str((path.parent / imported).resolve())
            for imported in re.findall(r'from "(\.[^"]+)"', path.read_text())
        }
        for name, path in names.items()
    }
    assert any(imports.values())
    assert circle(imports) == ""


def circle(imports: dict[str, set[str]]) -> str:
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return " imports ".join(reversed(error.args[1]))
    return ""


def test_a_circle_is_found() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": set()}) == ""
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}}).count("imports") == 3


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT / "src").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def module_of(name: str, modules: dict[str, Path]) -> str:
    """The module that has this name, or that defines it; "" if it is not one of ours."""
    return next((one for one in (name, name.rpartition(".")[0]) if one in modules), "")


@pytest.mark.parametrize("part", ["python", "native"])
def test_the_drawing_of_the_folders_is_current(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, draw the picture again with docs/images/folders.py."""
    images = ROOT / "docs" / "images"
    monkeypatch.syspath_prepend(str(images))
    drawing = importlib.import_module("folders")
    imports = drawing.imports_between_folders(ROOT)[part]
    drawn = drawing.folders_and_arrows((images / f"folders-{part}.svg").read_text())
    assert drawn == (set(imports), drawing.arrows(imports))
    assert len(drawn[1]) > 20


def test_a_circle_is_drawn_with_all_its_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "images"))
    drawing = importlib.import_module("folders")
    imports = {"a": {"b", "c", "d"}, "b": {"c", "d"}, "c": {"b", "d"}, "d": set()}
    assert drawing.arrows(imports) == {
        *{("a", "b"), ("a", "c")},  # each needs the other
        *{("b", "c"), ("c", "b"), ("b", "d"), ("c", "d")},
    }
