# SPDX-License-Identifier: Apache-2.0
"""A page with all errors that a user can cause, from the places in the source that raise them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

TITLES: Final = {
    "balance": "Mapping tasks",
    "commands": "Options and arguments",
    "comparison": "Comparing",
    "compiler": "Compiling with a wrapper",
    "conversion": "Converting a recording",
    "exchange": "Export",
    "host": "Memory of this host",
    "jobs": "Jobs",
    "live": "Running processes",
    "machine": "Machines",
    "placement": "Placing",
    "plan": "Plans",
    "prediction": "Prediction",
    "recorders": "Recording",
    "recording": "Recording",
    "report": "Reports",
    "samples": "Samples of perf",
    "trace": "Reading a trace",
    "tuning": "Tuning",
}


def error_texts(package: Path) -> dict[str, list[str]]:
    """The texts of errors by title; an ellipsis stands for parts that depend on the case."""
    found: dict[str, set[str]] = {}
    for file in sorted(package.rglob("*.py")):
        folder = file.relative_to(package).parts[0]
        title = TITLES.get(folder, "Others")
        for text in _raised(ast.parse(file.read_text())):
            found.setdefault(title, set()).add(text)
    return {title: sorted(texts, key=str.casefold) for title, texts in sorted(found.items())}


def _raised(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args and _name(node.func).endswith("Error"):
            text = " ".join(_text(node.args[0]).split())
            # Another function makes most of this text: one word alone means nothing to a reader.
            if _name(node.func) == "NumascapeError" and len(text.replace("…", "").split()) > 1:
                yield text


def _name(function: ast.expr) -> str:
    return function.id if isinstance(function, ast.Name) else ""


def _text(node: ast.expr) -> str:
    """The text of an expression, as far as it is known."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(value) for value in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left) + _text(node.right)
    return "…"


def error_page(package: Path) -> str:
    """The page as Markdown."""
    parts = [
        "# Errors",
        "",
        "These are the errors that a command can end with, with status 2. Each line says what is",
        "wrong and what to do. … stands for what depends on the case, such as a name.",
        "[Questions](../docs/questions.md#when-it-fails) explains some of them further.",
    ]
    for title, texts in error_texts(package).items():
        parts += ["", f"## {title}", ""]
        parts += [f"- {_markdown(text)}" for text in texts]
    return "\n".join([*parts, ""])


def _markdown(text: str) -> str:
    """The text with characters of Markdown's syntax escaped; code stays as it is."""
    pieces = text.split("`")
    for i in range(0, len(pieces), 2):
        pieces[i] = re.sub(r"([*_\[\]<])", r"\\\1", pieces[i])
    return "`".join(pieces)
