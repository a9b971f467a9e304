# SPDX-License-Identifier: Apache-2.0
"""The parts whose versions `numascape --version` prints."""

import json
import platform

from numascape.installation import installed_file


def describe_parts() -> list[str]:
    """A line for each part whose version matters when a fault is reported."""
    # Imported here: --help needs none of these.
    from importlib.metadata import version

    from numascape.plan.document import VERSION as PLAN_VERSION
    from numascape.trace.format import VERSION as TRACE_VERSION

    parts = json.loads(installed_file("parts.json").read_text())
    commit = installed_file("commit.txt").read_text().strip()
    plugin = f"for LLVM {parts['LLVM']}" if parts["LLVM"] else "not built"
    libraries = ", ".join(f"{name} {number}" for name, number in parts["libraries"].items())
    libc = " ".join(platform.libc_ver())
    return [
        f"native parts: built from commit {commit or 'unknown'}",
        f"binary recorder: DynamoRIO {parts['DynamoRIO']} with {parts['patches']} patches",
        f"compiled recorder: {plugin}",
        f"libraries: built with {libraries}; Polars {version('polars')}",
        f"formats: trace {TRACE_VERSION}, plan {PLAN_VERSION}",
        f"this system: Python {platform.python_version()}, {libc}, Linux {platform.release()}, "
        f"{platform.machine()}",
    ]
