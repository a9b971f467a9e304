# SPDX-License-Identifier: Apache-2.0
"""The targets of links in the documents exist."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from quality.external import ROOT

DOCUMENTS = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md", "bench/**/*.md", "src/**/*.md")
    for path in ROOT.glob(pattern)
    if "node_modules" not in path.parts
)
NAMES = [str(path.relative_to(ROOT)) for path in DOCUMENTS]


@pytest.mark.parametrize("document", DOCUMENTS, ids=NAMES)
def test_links_lead_somewhere(document: Path) -> None:
    text = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_explained_errors_are_those_of_the_source() -> None:
    sources = [*ROOT.glob("src/numascape/**/*.py"), *ROOT.glob("src/native/**/*.cpp")]
    # Parts of a string on several lines, joined.
    said = "".join(re.sub(r'"\s*\n\s*f?"', "", path.read_text()) for path in sources)
    table = (ROOT / "docs/questions.md").read_text().split("## When it fails")[1]
    explained = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    texts = [text for cell in explained for text in re.findall("`([^`]+)`", cell)]
    assert len(texts) >= len(explained) > 10
    assert [text for text in texts if text not in said] == []


@pytest.mark.parametrize("path", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_folders_and_files_that_are_named_exist(path: str) -> None:
    text = (ROOT / path).read_text()
    named = re.findall(r"`((?:src|docs|tests|cmake|examples|bench|include)/[\w./-]*)`", text)
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("path", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_files_that_are_named_without_their_folder_exist(path: str) -> None:
    """Some folder has a file of this name, such as `page_use.py` in the table of a folder."""
    suffixes = ("py", "cpp", "c", "h", "hpp", "S", "ts", "tsx", "toml", "txt", "md", "cmake")
    named = set(re.findall(rf"`([\w./-]+\.(?:{'|'.join(suffixes)}))`", (ROOT / path).read_text()))
    folders = [path for path in ROOT.iterdir() if path.name not in {"build", ".git", ".venv"}]
    existing = {
        f"/{file.relative_to(ROOT)}"
        for folder in folders
        for file in ([folder] if folder.is_file() else folder.rglob("*.*"))
        if "node_modules" not in file.parts
    }
    assert len(named) > 5
    assert [
        name for name in sorted(named) if not any(file.endswith(f"/{name}") for file in existing)
    ] == []


def test_the_answers_to_where_to_look_are_files_in_the_folders_that_they_name() -> None:
    """A name without a folder belongs to a file beside, or above, another file of the row."""
    table = (ROOT / "ARCHITECTURE.md").read_text().split("## Where to look")[1].split("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ") and "`" in line]
    assert len(rows) > 30
    for row in rows:
        answer = row.split(" | ", 1)[1]
        names = re.findall(r"`([\w./-]+(?:\.\w+|/))`", answer)
        whole = [ROOT / name for name in names if (ROOT / name).exists()]
        folders = {folder for path in whole for folder in (path, *path.parents)} - {ROOT}
        assert whole, row
        assert [n for n in names if not any((f / n).exists() for f in {*folders, ROOT})] == [], row


def verb_and_words(words: list[str]) -> list[str]:
    """The verb (two words, if it has verbs of its own), and the words after it."""
    if words[0] in {"machine", "host"} and len(words) > 1:
        return [" ".join(words[:2]), *words[2:]]
    return words


def test_commands_in_the_documents_have_the_options_they_use(
    numascape: Callable[..., tuple[int, str, str]],
) -> None:
    """Every `numascape VERB --option` of a document is understood by VERB's help."""
    used = {
        (verb, option)
        for document in DOCUMENTS
        for line in re.findall(r"numascape ([a-z]+ [^`\n]*)", document.read_text())
        for verb, *words in [verb_and_words(line.split(" -- ")[0].split())]
        for option in words
        if re.fullmatch(r"--?[a-z][a-z-]*", option)
    }
    assert ("record", "-o") in used
    helps = {verb: numascape(*verb.split(), "--help") for verb in {verb for verb, _ in used}}
    assert {status for status, _, _ in helps.values()} == {0}
    assert [
        f"{verb} {option}"
        for verb, option in sorted(used)
        if not re.search(rf"(?<![\w-]){option}(?![\w-])", helps[verb][1])
    ] == []
