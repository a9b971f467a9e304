# SPDX-License-Identifier: Apache-2.0
"""There is a man page for each verb, with all of its help."""

from __future__ import annotations

import re
from typing import Any

import pytest
import tomlkit
from typer.main import get_command

from numascape.cli.app import build_app
from numascape.cli.man_pages import man_pages
from quality.external import ROOT

PAGES = man_pages()
COMPILERS = {"numascape-cc.1", "numascape-c++.1", "numascape-fc.1"}


def test_every_verb_has_a_page() -> None:
    root: Any = get_command(build_app())
    verbs = {
        " ".join(words)
        for verb, command in root.commands.items()
        for words in [(verb,), *((verb, inner) for inner in getattr(command, "commands", {}))]
    }
    names = {f"numascape-{verb.replace(' ', '-')}.1" for verb in verbs}
    assert set(PAGES) - COMPILERS == {"numascape.1", *names}
    assert all(f"numascape {verb.split()[0]}" in PAGES["numascape.1"] for verb in verbs)


def test_the_compiler_commands_share_a_page() -> None:
    project = tomlkit.parse((ROOT / "pyproject.toml").read_text()).unwrap()["project"]
    assert {f"{command}.1" for command in project["scripts"]} == {"numascape.1", *COMPILERS}
    for name in COMPILERS - {"numascape-cc.1"}:
        assert PAGES[name] == ".so man1/numascape-cc.1\n"


@pytest.mark.parametrize("name", [name for name, page in PAGES.items() if page[:3] != ".so"])
def test_a_page_has_its_parts(name: str) -> None:
    page = PAGES[name]
    sections = re.findall(r"^\.SH (.*)$", page, re.MULTILINE)
    assert sections[:2] == ["NAME", "SYNOPSIS"]
    assert all(text.strip() for text in re.split(r"^\.SH .*$", page, flags=re.MULTILINE)[1:])
    # No line begins with a control character that is not a request of the generator's.
    requests = re.findall(r"^[.'](\S*)", page, re.MULTILINE)
    assert set(requests) <= {'\\"', "TH", "SH", "PP", "TP", "nf", "fi"}


def test_options_have_all_their_names_and_values() -> None:
    page = PAGES["numascape-record.1"]
    assert "\\fB\\-\\-output\\fR, \\fB\\-o\\fR \\fITRACE\\fR" in page
    assert "\\fB\\-\\-stack\\fR, \\fB\\-\\-no\\-stack\\fR\n" in page
    assert ".SH EXAMPLE" in page
