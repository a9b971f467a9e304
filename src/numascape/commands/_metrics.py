# SPDX-License-Identifier: Apache-2.0
"""Writes metrics in Prometheus' text format, as several verbs do."""

from __future__ import annotations

from pathlib import Path


def write_metrics(file: Path, text: str) -> None:
    """Write a file for node_exporter's textfile collector; `-` is standard output."""
    from numascape.atomic import replacing_file

    if str(file) == "-":
        print(text, end="", flush=True)
        return
    with replacing_file(file) as beside:
        beside.write_text(text)
        # The collector may run as another user.
        beside.chmod(0o644)
