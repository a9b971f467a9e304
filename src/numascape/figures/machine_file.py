# SPDX-License-Identifier: Apache-2.0
"""Writes the picture of a machine as an image, or as a page with the image and its sources."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Final

from numascape.appearance.style import Style
from numascape.atomic import replacing_file
from numascape.errors import NumascapeError
from numascape.figures.drawing import SUFFIXES, encode
from numascape.figures.machine_picture import PICTURE_CM, draw_machine
from numascape.machine.description import Machine
from numascape.machine.factors import bandwidths, latencies, numa_factors
from numascape.machine.wording import provenance_text

_PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{name}</title>
<meta http-equiv="Content-Security-Policy"
content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<style>body {{ font: 15px/1.5 sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }}
svg {{ width: 100%; height: auto }}</style></head>
<body><h1>{name}</h1>
{picture}
<h2>Where the figures are from</h2>
<ul>{sources}</ul>
</body></html>
"""


def save_machine(machine: Machine, file: Path) -> None:
    """Draw the machine to `file`; its suffix is the format: .svg, .png, .pdf or .html."""
    suffix = file.suffix.lower()
    if suffix not in (*SUFFIXES, ".html"):
        names = ", ".join([*SUFFIXES, ".html"])
        raise NumascapeError(f"{file}: a machine is drawn to files that end in one of {names}")
    # The page has the machine's name as its heading.
    figure = draw_machine(machine, Style(width=PICTURE_CM, title=suffix != ".html"))
    content = _page(machine, encode(figure, ".svg")) if suffix == ".html" else None
    with replacing_file(file) as beside:
        beside.write_bytes(content if content is not None else encode(figure, suffix))


def _page(machine: Machine, picture: bytes) -> bytes:
    drawn = picture.decode()
    known = [numa_factors(machine), latencies(machine), bandwidths(machine)]
    lines = [provenance_text(source) for figures in known for source in figures.sources()]
    if machine.provenance is not None:
        lines.insert(0, f"topology: {provenance_text(machine.provenance)}")
    lines += [f"note: {note}" for note in machine.notes]
    return _PAGE.format(
        name=html.escape(machine.name),
        picture=drawn[drawn.index("<svg") :],
        sources="".join(f"<li>{html.escape(line)}</li>" for line in dict.fromkeys(lines)),
    ).encode()
