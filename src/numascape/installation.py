# SPDX-License-Identifier: Apache-2.0
"""What is installed: its version, and the files of the package that are not Python."""

import json
import platform
from importlib.util import find_spec
from pathlib import Path

from numascape.errors import NumascapeError


def installed_version() -> str:
    """The version of Numascape, as its metadata has it."""
    # Imported here: reading the metadata takes longer than compiling a small file with
    # numascape-cc.
    from importlib.metadata import version

    return version("numascape")


def describe_parts() -> list[str]:
    """A line for each part whose version matters when a fault is reported."""
    # Imported here: --help needs none of these.
    from numascape.plan.document import VERSION as PLAN_VERSION
    from numascape.trace.format import VERSION as TRACE_VERSION

    parts = json.loads(installed_file("parts.json").read_text())
    plugin = f"for LLVM {parts['LLVM']}" if parts["LLVM"] else "not built"
    libc = " ".join(platform.libc_ver())
    return [
        f"binary recorder: DynamoRIO {parts['DynamoRIO']} with {parts['patches']} patches",
        f"compiled recorder: {plugin}",
        f"formats: trace {TRACE_VERSION}, plan {PLAN_VERSION}",
        f"this system: Python {platform.python_version()}, {libc}, Linux {platform.release()}, "
        f"{platform.machine()}",
    ]


def installed_file(name: str) -> Path:
    """The path of `name`, relative to the package: "report/viewer.html", "_recorder".

    Raises NumascapeError if the installation does not have it.
    """
    package = find_spec("numascape")
    # An editable installation has two folders: the sources, and the built files.
    for folder in (package and package.submodule_search_locations) or ():
        path = Path(folder) / name
        if path.exists():
            return path
    raise NumascapeError(
        f"this installation of Numascape lacks {name}: install it again with pip install"
    )
