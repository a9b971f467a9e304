# SPDX-License-Identifier: Apache-2.0
"""Draws the folders of the code in layers, and which of them import which.

The imports are those of the files of a checkout. An arrow leads from a folder to one that it
imports. It is left out if a path of other arrows leads to the same folder, so that the drawing
stays readable. Folders that import each other in a circle are red.

It needs `dot` of Graphviz. Run it from the checkout. Without a commit, it draws today's code. With
a commit, it draws the code of that commit, into files whose names end in `-before`:

    .venv/bin/python docs/images/folders.py [COMMIT]
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable
from html import unescape
from pathlib import Path

IMAGES = Path(__file__).parent
ROOT = IMAGES.parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from quality.imports import native_imports, python_imports  # noqa: E402

Imports = dict[str, set[str]]
FRAME = "folders"  # the name of the graph


def imports_between_folders(root: Path) -> dict[str, Imports]:
    """For each part of the code, its folders, and for each folder those that it imports."""
    source = root / "src"
    return {
        "python": _of_folders(source / "numascape", python_imports(root)),
        "native": _of_folders(source / "native", native_imports(root)),
    }


def _of_folders(parent: Path, imports: Iterable[tuple[str, str, str]]) -> Imports:
    folders = sorted(path.name for path in parent.iterdir() if path.is_dir())
    found: Imports = {name: set() for name in folders if not name.startswith("_")}
    for folder, imported, _ in imports:
        if folder != imported and folder in found and imported in found:
            found[folder].add(imported)
    return found


def reachable(imports: Imports, start: str) -> set[str]:
    """The folders that a folder needs, by any number of imports."""
    found: set[str] = set()
    waiting = list(imports[start])
    while waiting:
        folder = waiting.pop()
        if folder not in found:
            found.add(folder)
            waiting += imports[folder]
    return found


def arrows(imports: Imports) -> set[tuple[str, str]]:
    """The imports that do not follow from others. All imports within a circle stay."""
    needed = {folder: reachable(imports, folder) for folder in imports}

    def in_circle(one: str, other: str) -> bool:
        return one in needed[other] and other in needed[one]

    def follows(folder: str, imported: str) -> bool:
        return not in_circle(folder, imported) and any(
            imported in needed[other]
            and not in_circle(other, folder)
            and not in_circle(other, imported)
            for other in imports[folder] - {imported}
        )

    return {
        (folder, imported)
        for folder, direct in imports.items()
        for imported in direct
        if not follows(folder, imported)
    }


def folders_and_arrows(picture: str) -> tuple[set[str], set[tuple[str, str]]]:
    """The folders and the arrows of a picture."""
    titles = [unescape(title) for title in re.findall(r"<title>(.+)</title>", picture)]
    pairs = [title.split("->") for title in titles if "->" in title]
    folders = {title for title in titles if "->" not in title and title != FRAME}
    return folders, {(folder, imported) for folder, imported in pairs}


def graph(imports: Imports) -> str:
    """One part of the code for `dot`, the highest folders at the top."""
    circles = {folder for folder in imports if folder in reachable(imports, folder)}
    red = ' [color="#c0392b", fontcolor="#c0392b"]'
    lines = [
        "bgcolor=white; nodesep=0.18; ranksep=0.42;",
        'node [shape=box, style="rounded,filled", fillcolor="#eef3f8", color="#5b7083",'
        ' fontname="sans-serif", fontsize=13, height=0.32, margin="0.1,0.04"];',
        'edge [color="#7b8a97", arrowsize=0.6];',
        *(f'"{folder}"{red if folder in circles else ""}' for folder in imports),
        *(
            f'"{folder}" -> "{imported}"{red if folder in reachable(imports, imported) else ""}'
            for folder, imported in sorted(arrows(imports))
        ),
    ]
    return "\n".join([f"digraph {FRAME} {{", *lines, "}"])


def draw(root: Path, suffix: str) -> None:
    """Writes the picture of each part of the code in this folder."""
    for part, imports in imports_between_folders(root).items():
        drawn = subprocess.run(
            ["dot", "-Tsvg"], input=graph(imports), capture_output=True, text=True, check=True
        ).stdout
        # The version of `dot` is left out, because it is of no use to a reader.
        (IMAGES / f"folders-{part}{suffix}.svg").write_text(
            re.sub(r"<!--.*?-->\n", "", drawn, flags=re.S)
        )


def main(commit: str | None) -> None:
    """Draws this checkout, or the code of a commit."""
    if commit is None:
        draw(ROOT, "")
        return
    archive = subprocess.run(
        ["git", "-C", ROOT, "archive", commit, "src"], capture_output=True, check=True
    ).stdout
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(folder, filter="data")
        draw(Path(folder), "-before")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
