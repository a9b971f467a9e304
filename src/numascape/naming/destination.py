# SPDX-License-Identifier: Apache-2.0
"""Data types for where the result of a call goes; each language has its own finder."""

import re
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache

LONGEST_NAME = 200
# Names of temporary variables, which hold a block until it is checked (`tmp = realloc(v->x, n)`).
TEMPORARY_NAME = re.compile(r"p|q|ptr|raw|te?mp\w*|new\w*|\w+_new|\w+New|\w+_te?mp")


class DestinationKind(Enum):
    """The frame that has the name of the memory."""

    VARIABLE = auto()  # this frame: `name` is the variable
    RETURNED = auto()  # the caller: the function returns it
    PARAMETER = auto()  # the caller: it is stored where argument number `argument` points
    MEMBER = auto()  # the caller: it is stored in `member` of the function's object


@dataclass(frozen=True)
class Destination:
    """The place where a value is stored.

    `name` is the best name in this frame (maybe empty). If the caller has a better name, `suffix`
    (`.vx`) is appended to it. If one statement allocates several variables, `parts` are their
    names.
    """

    kind: DestinationKind
    name: str
    argument: int = -1
    member: str = ""
    suffix: str = ""
    parts: tuple[str, ...] = ()


@dataclass(frozen=True)
class DestinationQuery:
    """The question about a frame's statement.

    By default: where does the value of the call go? With `argument`: where does argument number
    `argument` point? With `member`: which object's `member` is filled? `callee` is the name of the
    called function, or empty; `suffix` is appended to the name that is found.
    """

    callee: str = ""
    argument: int = -1
    member: str = ""
    is_constructor: bool = False
    suffix: str = ""


def join_suffix(name: str, suffix: str) -> str:
    """Join an expression and a suffix: `*p` and `.x` are `p->x`."""
    if name.startswith("*") and suffix.startswith("."):
        name, suffix = name[1:], "->" + suffix[1:]
    return tidy(name + suffix)


def of_pointer(suffix: str) -> str:
    """The suffix of `p` that means the same as this suffix of `*p`: `->x` for `.x`."""
    if suffix.startswith("."):
        return "->" + suffix[1:]
    return "[0]" + suffix if suffix else ""


def of_pointee(suffix: str) -> str:
    """The suffix of `x` that means the same as this suffix of `&x`: `.y` for `->y`."""
    return suffix[3:] if suffix.startswith("[0]") else re.sub("^->", ".", suffix)


def without_subscripts(name: str) -> str:
    """The name of the array of which `name` is an element: `grid.rows` for `grid.rows[i + 1]`."""
    depth = 0
    kept = []
    for character in name:
        depth += character == "["
        if depth == 0:
            kept.append(character)
        depth -= character == "]" and depth > 0
    return "".join(kept)


@lru_cache(maxsize=1 << 14)
def tidy(text: str) -> str:
    """The source text on one line, without control characters and of bounded length."""
    printable = "".join(c if c.isprintable() else " " for c in text[: 4 * LONGEST_NAME])
    line = " ".join(printable.split())
    return line if len(line) <= LONGEST_NAME else line[: LONGEST_NAME - 1] + "…"
