# SPDX-License-Identifier: Apache-2.0
"""The site of the documents is built without a warning, and loads nothing from the network."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module

from command_pages import command_pages
from error_pages import error_texts
from header_pages import header_pages
from python_pages import MODULES, python_pages

from quality.external import ROOT


def test_the_site_is_whole() -> None:
    result = subprocess.run(
        [ROOT / "packaging/site/build", sys.executable, "numa16"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    pages = ROOT / "build/site/pages"
    for page in ("index.html", "docs/record.html", "examples/matmul/index.html"):
        text = (pages / page).read_text()
        assert re.findall(r'(?:src|<link[^>]* href)="(?:https?:)?//[^"]*"', text) == []
    # Pages that are made from the program have the program's own words.
    commands = (pages / "reference/commands/numascape-record.html").read_text()
    assert "--measure-cost" in commands
    assert "Trace.findings" in (pages / "reference/python/numascape.html").read_text()
    assert "segmented_vector" in (pages / "reference/cpp/segmented_vector-hpp.html").read_text()
    assert "numa16.svg" in (pages / "reference/machines/numa16.html").read_text()
    assert (pages / "reference/machines/numa16.svg").stat().st_size > 10_000


def test_every_document_has_a_place_in_the_site() -> None:
    settings = (ROOT / "packaging/site/mkdocs.yml").read_text()
    documents = {str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")}
    assert documents - set(re.findall(r"[\w./-]+\.md", settings)) == set()


def test_every_public_name_is_in_the_reference() -> None:
    pages = python_pages()
    missing = [
        f"{module}.{name}"
        for module in MODULES
        for name in import_module(module).__all__
        if callable(getattr(import_module(module), name)) and f"## {name}\n" not in pages[module]
    ]
    assert missing == []
    headers = header_pages(ROOT / "include")
    names = {path.name.replace(".", "-") for path in (ROOT / "include/numascape").glob("*.h*")}
    assert names == set(headers) - {"overview"}
    # A declaration with its comment, and a member of a class with its own.
    assert "## node_threads\n" in headers["executor-hpp"]
    assert "placement_report verify() const" in headers["segmented_vector-hpp"]
    assert "void numascape_phase(const char* name)" in headers["phase-h"]


def test_every_option_is_in_the_reference(numascape: Callable[..., tuple[int, str, str]]) -> None:
    pages = command_pages()
    for verb in ("record", "host sweep"):
        _, shown, _ = numascape(*verb.split(), "--help")
        page = pages[f"numascape-{verb.replace(' ', '-')}"]
        options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", shown)) - {"--help"}
        assert len(options) > 4
        assert [option for option in sorted(options) if option not in page] == []


def test_every_error_is_in_the_reference() -> None:
    texts = error_texts(ROOT / "src/numascape")
    known = "no program given: use numascape record -- PROGRAM, or --pid PID"
    assert known in texts["Recording"]
    assert texts["Options and arguments"]
    raised = sum(
        len(re.findall(r"\bNumascapeError\(", path.read_text()))
        for path in (ROOT / "src/numascape").rglob("*.py")
    )
    # Some errors have the same text, and some get their text from a function.
    assert sum(map(len, texts.values())) > 0.8 * raised
