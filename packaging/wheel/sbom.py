# SPDX-License-Identifier: Apache-2.0
"""Puts a list of the parts of a wheel into it: python sbom.py WHEEL PARTS.

auditwheel lists the system's libraries that it adds. This list (CycloneDX) has the other parts:
DynamoRIO, the npm packages in the page, and the Python packages that pip installs beside it. pip
may install any version that the requirement allows. The list has the requirement, and as version
the one of constraints.txt, which the tests use. PARTS is the parts.json of the build. The same
wheel and sources give the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
import zipfile
from pathlib import Path
from typing import Any, Final

import tomlkit

ROOT = Path(__file__).parents[2]
NAME: Final = "sboms/numascape.cdx.json"


def bill_of_materials(parts: dict[str, Any], root: Path = ROOT) -> dict[str, Any]:
    """The document as plain data."""
    project = tomlkit.parse((root / "pyproject.toml").read_text()).unwrap()["project"]
    tested = _tested_versions(root)
    lock = json.loads((root / "src/viewer/package-lock.json").read_text())
    components = [
        _component("library", "DynamoRIO", str(parts["DynamoRIO"]), "BSD-3-Clause", "required"),
        *(
            _component("library", path.removeprefix("node_modules/"), package["version"],
                       package["license"], "required", "npm")
            for path, package in sorted(lock["packages"].items())
            if path and not package.get("dev")
        ),
        *(_python_package(requirement, tested) for requirement in project["dependencies"]),
    ]  # fmt: skip
    own = _component("application", "numascape", project["version"], project["license"], "", "pypi")
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": own},
        "components": components,
    }


def _tested_versions(root: Path) -> dict[str, str]:
    """The versions in constraints.txt by the names of their packages, in lower case."""
    lines = (root / "constraints.txt").read_text().splitlines()
    pairs = (line.split("==") for line in lines if "==" in line)
    return {name.lower(): version.strip() for name, version in pairs}


def _python_package(requirement: str, tested: dict[str, str]) -> dict[str, Any]:
    match = re.match(r"[\w-]+", requirement)
    assert match is not None, requirement
    name = match[0]
    component = _component("library", name, tested.get(name, ""), "", "optional", "pypi")
    component["properties"] = [{"name": "numascape:requirement", "value": requirement}]
    return component


def _component(
    kind: str, name: str, version: str, licence: str, scope: str, registry: str = ""
) -> dict[str, Any]:
    component: dict[str, Any] = {"type": kind, "name": name}
    if version:
        component["version"] = version
    if licence:
        component["licenses"] = [{"license": {"id": licence}}]
    if scope:
        component["scope"] = scope
    if registry:
        suffix = f"@{version}" if version else ""
        component["purl"] = f"pkg:{registry}/{name.replace('@', '%40')}{suffix}"
    return component


def add(wheel: Path, document: dict[str, Any]) -> None:
    """Add the document to the wheel's dist-info, and to its RECORD."""
    content = (json.dumps(document, indent=1, sort_keys=True) + "\n").encode()
    beside = wheel.with_suffix(".part")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED) as new:
        (record,) = [n for n in old.namelist() if n.endswith(".dist-info/RECORD")]
        name = f"{record.removesuffix('RECORD')}{NAME}"
        for entry in old.infolist():
            if entry.filename not in (name, record):
                new.writestr(entry, old.read(entry), compress_type=zipfile.ZIP_DEFLATED)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        kept = [
            line for line in old.read(record).decode().splitlines() if line.split(",")[0] != name
        ]
        when = old.getinfo(record).date_time
        lines = "\n".join([*kept[:-1], f"{name},sha256={digest},{len(content)}", kept[-1], ""])
        for path, data in ((name, content), (record, lines.encode())):
            entry = zipfile.ZipInfo(path, when)
            entry.external_attr = 0o644 << 16
            new.writestr(entry, data, compress_type=zipfile.ZIP_DEFLATED)
    beside.replace(wheel)


def main() -> None:
    """Add the list to the wheel that is named."""
    wheel, parts = map(Path, sys.argv[1:])
    add(wheel, bill_of_materials(json.loads(parts.read_text())))


if __name__ == "__main__":
    main()
