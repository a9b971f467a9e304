# SPDX-License-Identifier: Apache-2.0
"""The figures that tests compare, and how their references are made.

After a wanted change of a figure: `python -m unit.figures.make_references` in the folder tests.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from numascape.appearance.style import Style
from numascape.figures import FigureName
from numascape.figures.drawing import draw, save
from numascape.trace import Trace
from synthetic.patterns import block_matmul, many_phases
from synthetic.write import write_pattern

REFERENCES = Path(__file__).parent / "references"
SMALL: dict[str, Any] = {"width": 5, "height": 4}
LARGE: dict[str, Any] = {"width": 9, "height": 8}
CASES: dict[str, tuple[FigureName, str | None, Style]] = {
    "access": ("access", "B", Style(**SMALL)),
    "first-touch-grey": ("first-touch", "C", Style(grey=True, **SMALL)),
    "phases": ("phases", None, Style(**LARGE)),
    "read-write": ("read-write", None, Style(**SMALL)),
    "sharing": ("sharing", "B", Style(**SMALL)),
    "sizes-grey": ("sizes", None, Style(grey=True, **LARGE)),
    "strip": ("strip", None, Style(**SMALL)),
    "traffic": ("traffic", "C", Style(title=False, **SMALL)),
}


def example(folder: Path) -> Trace:
    """Eight threads multiply small matrices, each a block of rows."""
    return write_pattern(block_matmul(256, 8), folder / "small.numascape")


def example_with_phases(folder: Path) -> Trace:
    """Eight threads, twenty phases."""
    return write_pattern(many_phases(8, 20, 256), folder / "phases.numascape")


def of_case(figure: FigureName, small: Trace, phased: Trace) -> Trace:
    """The trace with the data that the figure shows."""
    return phased if figure == "phases" else small


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        small, phased = example(Path(folder)), example_with_phases(Path(folder))
        for name, (figure, structure, style) in CASES.items():
            drawn = draw(of_case(figure, small, phased), figure, structure, style)
            save(drawn, REFERENCES / f"{name}.png")


if __name__ == "__main__":
    main()
