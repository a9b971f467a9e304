# SPDX-License-Identifier: Apache-2.0
"""Make names from a trace safe to show: of bounded length, without invisible characters.

The page needs no escaping for HTML, because it inserts names as text only.
"""

from __future__ import annotations

from numascape import terminal

LONGEST = 12_000
"""Characters of a name that the report keeps; mangled template names reach thousands."""


def short_printable(text: str, longest: int = LONGEST) -> str:
    """Return `text` with control and direction characters escaped, at most `longest` long."""
    shown = text if len(text) <= longest else text[: longest - 1] + "…"
    return shown if shown.isascii() and shown.isprintable() else terminal.printable(shown)
