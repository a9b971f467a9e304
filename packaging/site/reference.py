# SPDX-License-Identifier: Apache-2.0
"""Writes the pages of the reference: python reference.py FOLDER [MACHINE ...].

The pages are made from these sources: the definitions of the command line, the docstrings of the
Python interface, the comments of the C and C++ headers, the errors that the sources raise, and the
shipped machines. Each named machine (default: all) gets a picture.
"""

from __future__ import annotations

import sys
from pathlib import Path

from command_pages import command_pages
from error_pages import error_page
from header_pages import header_pages
from machine_pages import write_machines
from python_pages import python_pages

ROOT = Path(__file__).parents[2]


def main() -> None:
    """Write all pages into the folder."""
    folder = Path(sys.argv[1])
    pages = {
        "errors.md": error_page(ROOT / "src/numascape"),
        **{f"commands/{name}.md": text for name, text in command_pages().items()},
        **{f"python/{name}.md": text for name, text in python_pages().items()},
        **{f"cpp/{name}.md": text for name, text in header_pages(ROOT / "include").items()},
    }
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    write_machines(folder / "machines", sys.argv[2:])


if __name__ == "__main__":
    main()
