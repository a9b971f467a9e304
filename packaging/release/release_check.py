# SPDX-License-Identifier: Apache-2.0
"""Checks that a tag is that of the version in the sources: python release_check.py TAG.

The version is written in pyproject.toml. A release has the tag vVERSION, a section in CHANGELOG.md
with its date, and the same version and date in CITATION.cff.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import tomlkit

ROOT = Path(__file__).parents[2]


def problems(tag: str, root: Path = ROOT) -> list[str]:
    """The changes that are needed before this tag is a release, one sentence each."""
    project = tomlkit.parse((root / "pyproject.toml").read_text()).unwrap()["project"]
    version = str(project["version"])
    found = []
    if tag != f"v{version}":
        found.append(f"the tag is {tag}, but pyproject.toml has version {version}")
    citation = (root / "CITATION.cff").read_text()
    if f"\nversion: {version}\n" not in citation:
        found.append(f"CITATION.cff has another version than {version}")
    newest = re.search(r"^## (.*)$", (root / "CHANGELOG.md").read_text(), re.MULTILINE)
    heading = newest[1] if newest else ""
    dated = re.fullmatch(rf"{re.escape(version)}, (\d{{4}}-\d\d-\d\d)", heading)
    if not dated:
        found.append(f"the first section of CHANGELOG.md is not '{version}, YYYY-MM-DD'")
    elif f"\ndate-released: {dated[1]}\n" not in citation:
        found.append(
            f"CITATION.cff has another date-released than CHANGELOG.md, which has {dated[1]}"
        )
    return found


def main() -> int:
    """Print what is wrong; the status is 1 then."""
    if len(sys.argv) != 2:
        print("usage: release_check.py TAG", file=sys.stderr)
        return 2
    found = problems(sys.argv[1])
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
