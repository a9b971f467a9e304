# SPDX-License-Identifier: Apache-2.0
"""Writes the picture of a machine as an image."""

from __future__ import annotations

from pathlib import Path

from numascape.appearance.style import Style
from numascape.atomic import replacing_file
from numascape.errors import NumascapeError
from numascape.figures.drawing import SUFFIXES, encode
from numascape.figures.machine_picture import PICTURE_CM, draw_machine
from numascape.machine.description import Machine


def save_machine(machine: Machine, file: Path) -> None:
    """Draw the machine to `file`; its suffix is the format: .svg, .png or .pdf."""
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        names = ", ".join([*SUFFIXES, ".html"])
        raise NumascapeError(f"{file}: a machine is drawn to files that end in one of {names}")
    content = encode(draw_machine(machine, Style(width=PICTURE_CM, title=True)), suffix)
    with replacing_file(file) as beside:
        beside.write_bytes(content)
