# SPDX-License-Identifier: Apache-2.0
"""The site of the documents is built without a warning, and loads nothing from the network."""

from __future__ import annotations

import re
import subprocess
import sys

from quality.external import ROOT


def test_the_site_is_whole() -> None:
    result = subprocess.run(
        [ROOT / "packaging/site/build", sys.executable],
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


def test_every_document_has_a_place_in_the_site() -> None:
    settings = (ROOT / "packaging/site/mkdocs.yml").read_text()
    documents = {str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")}
    assert documents - set(re.findall(r"[\w./-]+\.md", settings)) == set()
