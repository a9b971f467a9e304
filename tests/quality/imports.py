# SPDX-License-Identifier: Apache-2.0
"""Lists the imports of the files of a checkout, by folder."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

# These export names of the packages; no file inside the package imports them.
FACES = {"__init__", "__main__"}


def python_imports(root: Path) -> Iterator[tuple[str, str, str]]:
    """The package or module that imports, the one that it imports, and the file.

    This includes the bindings, whose types are in `_native`, and `numascape` itself.
    """
    package = root / "src" / "numascape"
    for path in sorted([*package.rglob("*.py"), *package.rglob("*.pyi")]):
        folder = path.relative_to(package).with_suffix("").parts[0]
        if folder in FACES:
            continue
        for name in sorted(imported_names(path)):
            parts = name.split(".")
            if parts[0] == "numascape":
                yield folder, [*parts, "__init__"][1], str(path.relative_to(root))


def native_imports(root: Path) -> Iterator[tuple[str, str, str]]:
    """The folder that imports, the one that it imports, and the file."""
    yield from included_headers(root)
    yield from used_targets(root)


def included_headers(root: Path) -> Iterator[tuple[str, str, str]]:
    """A header of the own folder, or the one of this name in another folder."""
    native = root / "src" / "native"
    endings = ("h", "c", "cpp", "S", "inc")
    files = [path for ending in endings for path in sorted(native.rglob(f"*.{ending}"))]
    folders = {path: path.relative_to(native).parts[0] for path in files}
    homes: dict[str, set[str]] = {}
    for path, folder in folders.items():
        homes.setdefault(path.name, set()).add(folder)
    for path, folder in folders.items():
        for name in re.findall(r'#include "(?:.*/)?([^"/]+)"', path.read_text()):
            found = homes.get(name, set())
            if folder in found:
                found = {folder}
            if found:
                (imported,) = found
                yield folder, imported, str(path.relative_to(root))


def used_targets(root: Path) -> Iterator[tuple[str, str, str]]:
    """The targets of other folders that CMake builds a folder with, and their files."""
    native = root / "src" / "native"
    texts = {path: path.read_text() for path in sorted(native.rglob("CMakeLists.txt"))}
    target = r"^\s*(?:add_library|add_executable|nanobind_add_module)\((\w+)"
    owner = {
        name: path.parent.name
        for path, text in texts.items()
        for name in re.findall(target, text, re.MULTILINE)
    }
    for path, text in texts.items():
        named = {owner[word] for word in re.findall(r"\w+", text) if word in owner}
        files = re.findall(r"(?:src/native|\.\.)/([\w-]+)", text)
        for folder in sorted(named.union(files) - {path.parent.name}):
            yield path.parent.name, folder, str(path.relative_to(root))


def imported_names(path: Path) -> set[str]:
    """All imports of a file, also inside functions: modules, and names in modules."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            names |= {f"{node.module}.{name.name}" for name in node.names}
        elif isinstance(node, ast.Import):
            names |= {name.name for name in node.names}
    return names
