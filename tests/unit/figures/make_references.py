# SPDX-License-Identifier: Apache-2.0
"""The figures that tests compare, and how their references are made.

After a wanted change of a figure: `python -m unit.figures.make_references` in the folder tests.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from numascape.figures import FigureName
from numascape.figures.drawing import draw, save
from numascape.figures.style import Style
from numascape.trace import Trace
from synthetic.patterns import block_matmul
from synthetic.write import write_pattern

REFERENCES = Path(__file__).parent / "references"
SMALL: dict[str, Any] = {"width": 5, "height": 4}
CASES: dict[str, tuple[FigureName, str | None, Style]] = {
    "access": ("access", "B", Style(**SMALL)),
    "first-touch-grey": ("first-touch", "C", Style(grey=True, **SMALL)),
    "strip": ("strip", None, Style(**SMALL)),
    "traffic": ("traffic", "C", Style(title=False, **SMALL)),
}


def example(folder: Path) -> Trace:
    """Eight threads multiply small matrices, each a block of rows."""
    return write_pattern(block_matmul(256, 8), folder / "small.numascape")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        trace = example(Path(folder))
        for name, (figure, structure, style) in CASES.items():
            save(draw(trace, figure, structure, style), REFERENCES / f"{name}.png")


if __name__ == "__main__":
    main()
