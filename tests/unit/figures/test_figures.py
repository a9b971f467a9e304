# SPDX-License-Identifier: Apache-2.0
"""Figures as they are drawn and written."""

from __future__ import annotations

import io
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.text import Text

import numascape
from numascape.appearance.style import Style, quantity
from numascape.figures import FIGURES
from numascape.figures.drawing import SUFFIXES, TraceFigure, draw, encode
from numascape.figures.phase_figures import PHASES, phase_times
from numascape.trace import Trace
from synthetic.patterns import HOSTILE, hostile
from synthetic.write import write_pattern
from unit.figures.make_references import (
    CASES,
    REFERENCES,
    example,
    example_with_phases,
    of_case,
)

# A share of the pixels with ink in either picture. Fonts are Matplotlib's own, but its versions may
# shift text by a pixel; so a pixel may also be equal to a neighbour in the other picture.
MAX_DIFFERENT = 0.01
Pixels = npt.NDArray[np.float32]
OF_ANY_RUN = [figure for figure in FIGURES if figure != "phases"]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return example(tmp_path_factory.mktemp("figures"))


@pytest.fixture(scope="module")
def phased(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return example_with_phases(tmp_path_factory.mktemp("phased"))


def pixels_of(figure: Figure) -> Pixels:
    return imread(io.BytesIO(encode(figure, ".png")))[..., :3]


def differs(one: Pixels, other: Pixels) -> npt.NDArray[np.bool_]:
    """Pixels of `one` that neither `other` nor its eight neighbours have."""
    best = np.full(one.shape[:2], np.inf)
    for down in (-1, 0, 1):
        for right in (-1, 0, 1):
            moved = np.roll(other, (down, right), axis=(0, 1))
            best = np.minimum(best, np.abs(one - moved).max(axis=2))
    return best > 0.1


def different_ink(drawn: Pixels, reference: Pixels) -> float:
    """The share of pixels with ink in one picture that the other picture does not have."""
    ink = (drawn.min(axis=2) < 0.99) | (reference.min(axis=2) < 0.99)
    different = differs(drawn, reference) | differs(reference, drawn)
    return float((different & ink).sum() / ink.sum())


@pytest.mark.parametrize("name", CASES)
def test_figures_look_as_they_did(name: str, small: Trace, phased: Trace) -> None:
    figure, structure, style = CASES[name]
    drawn = pixels_of(draw(of_case(figure, small, phased), figure, structure, style))
    reference = imread(REFERENCES / f"{name}.png")[..., :3]
    assert drawn.shape == reference.shape
    assert different_ink(drawn, reference) < MAX_DIFFERENT


@pytest.mark.parametrize("name", ["access", "sharing", "traffic"])
def test_another_structure_does_not_pass_for_the_right_one(name: str, small: Trace) -> None:
    """The tolerance is small enough to detect a wrong figure."""
    case = next(key for key, (figure, _, _) in CASES.items() if figure == name)
    figure, structure, style = CASES[case]
    other = "A" if structure != "A" else "C"
    plain = replace(style, title=False)
    drawn = pixels_of(draw(small, figure, other, plain))
    right = pixels_of(draw(small, figure, structure, plain))
    assert different_ink(drawn, right) > MAX_DIFFERENT


def test_every_figure_has_a_reference() -> None:
    assert {figure for figure, _, _ in CASES.values()} == set(FIGURES)


@pytest.mark.parametrize("figure", OF_ANY_RUN)
def test_the_same_trace_gives_the_same_file(small: Trace, figure: str) -> None:
    assert figure in FIGURES
    style = Style(width=5, height=4)
    drawings = draw(small, figure, "B", style), draw(small, figure, "B", style)
    for suffix in SUFFIXES:
        first, second = (encode(drawing, suffix, 60) for drawing in drawings)
        assert first == second
        assert b"Date" not in first


@pytest.mark.parametrize("figure", OF_ANY_RUN)
def test_grey_figures_have_no_colour(small: Trace, figure: str) -> None:
    assert figure in FIGURES
    content = encode(draw(small, figure, "B", Style(grey=True)), ".png", 100)
    pixels = imread(io.BytesIO(content))[..., :3]
    assert (pixels.max(axis=2) - pixels.min(axis=2)).max() < 0.01


def test_text_in_vector_files_is_text(small: Trace) -> None:
    figure = draw(small, "access", "A")
    assert b">A: accesses</text>" in encode(figure, ".svg")
    assert b"/Subtype /Type3" not in encode(figure, ".pdf")  # outlines drawn as a font


def test_size_and_title_are_as_wished(small: Trace) -> None:
    figure = draw(small, "access", "A", Style(width=17, height=3, title=False))
    assert (figure.get_size_inches() * 2.54).tolist() == pytest.approx([17, 3])
    assert not any(text.get_text()[-8:] == "accesses" for text in figure.axes[0].texts)
    assert figure.axes[0].get_title() == ""


def test_the_users_own_settings_do_not_matter(small: Trace) -> None:
    plain = encode(draw(small, "read-write"), ".png", 60)
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red", "text.parse_math": True}):
        assert encode(draw(small, "read-write"), ".png", 60) == plain


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_hostile_names_are_drawn_as_they_are(tmp_path: Path, number: int) -> None:
    trace = write_pattern(hostile(), tmp_path / "hostile.numascape")
    figure = draw(trace, "access", HOSTILE[number])
    assert figure.axes[0].get_title()[:4].isprintable()
    assert len(figure.axes[0].get_title()) < 60
    svg = encode(figure, ".svg")
    assert b"<script" not in svg
    assert b"<img" not in svg


def test_names_with_dollars_are_no_formulas(tmp_path: Path) -> None:
    pattern = hostile()
    pattern.structures[0]["name"] = r"$\frac{$"
    trace = write_pattern(pattern, tmp_path / "dollars.numascape")
    figure = draw(trace, "access", r"$\frac{$")
    assert figure.axes[0].get_title() == r"$\frac{$: accesses"
    assert not any(text.get_parse_math() for text in figure.findobj(Text))
    assert encode(figure, ".pdf")


def test_characters_that_the_font_lacks_are_no_error(tmp_path: Path) -> None:
    pattern = hostile()
    pattern.structures[0]["name"] = "格子"
    trace = write_pattern(pattern, tmp_path / "far.numascape")
    assert encode(draw(trace, "access", "格子"), ".pdf")


def test_python_draws_the_same(small: Trace) -> None:
    plot = numascape.open(small.path).plot
    drawn = [
        plot.access("B"),
        plot.first_touch("B"),
        plot.sizes("B"),
        plot.read_write("B"),
        plot.sharing("B"),
        plot.traffic("B"),
        plot.strip("B"),
    ]
    for figure, result in zip(OF_ANY_RUN, drawn, strict=True):
        assert encode(result, ".png", 60) == encode(draw(small, figure, "B"), ".png", 60)
    shown = plot.access(1)
    assert isinstance(shown, TraceFigure)
    assert shown._repr_png_().startswith(b"\x89PNG")


def test_a_trace_shows_itself_in_a_notebook(small: Trace) -> None:
    shown = numascape.open(small.path)._repr_html_()
    assert shown.count("<tr>") == 1 + small.structures.height
    assert "<td>B</td><td>heap</td><td>512 KiB</td>" in shown


def test_names_in_a_notebook_are_escaped(tmp_path: Path) -> None:
    write_pattern(hostile(), tmp_path / "hostile.numascape")
    shown = numascape.open(tmp_path / "hostile.numascape")._repr_html_()
    assert "<script" not in shown
    assert shown.count("<img") == shown.count("<img width=")
    assert "&amp;lt;b&amp;gt;" in shown
    assert "&quot;&gt;&lt;img" in shown
    assert "template_argument, " * 15 not in shown


def test_quantities_are_short() -> None:
    values = (0, 1, 999, 1000, 1500, 2_000_000, 3.2e18)
    assert [quantity(value) for value in values] == [
        "0",
        "1",
        "999",
        "1 k",
        "1.5 k",
        "2 M",
        "3.2 E",
    ]


@pytest.mark.program
def test_other_verbs_do_not_wait_for_matplotlib() -> None:
    program = (
        "import sys, numascape, numascape.cli.entry; numascape.open; "
        "import numascape.figures.plots; print('matplotlib' in sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout == "False\n"


@pytest.mark.parametrize("grey", [False, True])
def test_phases_are_drawn_when_they_ran(phased: Trace, grey: bool) -> None:
    figure = draw(phased, "phases", None, Style(grey=grey))
    left = figure.axes[0]
    assert len(left.get_yticks()) == PHASES
    assert figure.get_suptitle() == f"Whole run: {PHASES} phases of 20"
    names = [label.get_text() for label in left.get_yticklabels()]
    assert names == sorted(names, key=lambda name: int(name.removeprefix("step ")))
    pixels = imread(io.BytesIO(encode(figure, ".png", 100)))[..., :3]
    assert ((pixels.max(axis=2) - pixels.min(axis=2)).max() < 0.01) == grey


def test_phases_add_up(phased: Trace) -> None:
    times = phase_times(phased, None, bins=100)
    spans = phased.phase_spans.with_columns(ns=pl.col("end_ns") - pl.col("start_ns"))
    end = int(phased.phases["end_ns"].max())  # type: ignore[arg-type]
    for row, name in enumerate(times.names):
        number = phased.phases["name"].to_list().index(name)
        own = phased.accesses.filter(phase=number)
        assert times.reads[row] == own["reads"].sum()
        assert times.writes[row] == own["writes"].sum()
        ran = spans.filter(phase=number)["ns"].sum()
        assert times.ran[row].mean() * end == pytest.approx(ran)


def test_a_phase_is_drawn_alone(phased: Trace) -> None:
    plot = numascape.open(phased.path).plot
    only = plot.access("field", phase="step 3")
    assert only.axes[0].get_title() == "field in phase step 3: accesses"
    content = encode(only, ".png", 60)
    assert content == encode(plot.access("field", phase=3), ".png", 60)
    assert content != encode(plot.access("field", phase=9), ".png", 60)
    assert plot.sizes(phase=3).get_suptitle() == "Phase step 3: structures with most accesses"
    assert plot.strip("table", phase=3).get_suptitle().startswith("table in phase step 3: ")


def test_a_structure_that_nobody_shares_says_so(phased: Trace, tmp_path: Path) -> None:
    pattern = hostile()
    alone = pattern.structure("alone", 4)
    pattern.access(alone, np.arange(4), np.array(2), 1, 0)
    trace = write_pattern(pattern, tmp_path / "alone.numascape")
    assert b"no page is used" in encode(draw(trace, "sharing", "alone"), ".svg")
    assert b"no page is used" not in encode(draw(phased, "sharing", "table"), ".svg")
