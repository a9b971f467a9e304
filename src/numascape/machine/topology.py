# SPDX-License-Identifier: Apache-2.0
"""Starts the topology reader: a separate process in which hwloc reads untrusted input."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Literal

from numascape.errors import NumascapeError
from numascape.installation import installed_file

# hwloc's XML of a machine with 192 nodes has 2 MB.
_LARGEST = 64 << 20
_SECONDS = 120


def topology_xml(
    kind: Literal["host", "root", "xml", "synthetic"], source: str, name: str
) -> bytes:
    """The XML (hwloc's format 2) of a host, a folder, a file or a text; `name` is for errors.

    Raises NumascapeError if there is no machine in it.
    """
    reader = installed_file("_machine/topology-reader")
    command = [str(reader), kind, *([] if kind == "host" else [source])]
    try:
        result = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise NumascapeError(f"{name}: hwloc did not finish reading it in time") from error
    except (OSError, ValueError) as error:
        raise NumascapeError(f"cannot start {reader}: {error}") from error
    if result.returncode < 0:
        raise NumascapeError(f"{name} is damaged: hwloc's reader ended with a crash")
    if result.returncode != 0:
        reason = result.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
        raise NumascapeError(f"{name} describes no machine: {reason[-1][:200]}")
    if len(result.stdout) > _LARGEST:
        raise NumascapeError(f"{name} describes a machine that is too large")
    return result.stdout


def folder_text(folder: Path) -> str:
    """The path as hwloc needs it: absolute, without a slash at its end."""
    return str(folder.resolve()).rstrip("/") or "/"
