# SPDX-License-Identifier: Apache-2.0
"""Where a call's result goes: what each language's reader finds in a source statement."""

import re
from dataclasses import dataclass
from enum import Enum, auto

LONGEST_NAME = 200
# Names of variables that hold a block until it is known to be one (`tmp = realloc(v->x, n)`).
TEMPORARY_NAME = re.compile(r"p|q|ptr|raw|te?mp\w*|new\w*|\w+_new|\w+New|\w+_te?mp")


class Kind(Enum):
    """Who knows the name of the memory."""

    VARIABLE = auto()  # this frame: `name` is the variable
    RETURNED = auto()  # the caller: the function returns it
    PARAMETER = auto()  # the caller: it goes to what argument number `argument` refers to
    MEMBER = auto()  # the caller: it goes to `member` of the object the function works on


@dataclass(frozen=True)
class Destination:
    """The place a value goes to.

    `name` is the best name known in this frame (maybe empty); where the caller knows a better one,
    `suffix` (`.vx`) follows that. `parts` are the names when one statement allocates several.
    """

    kind: Kind
    name: str
    argument: int = -1
    member: str = ""
    suffix: str = ""
    parts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Wanted:
    """What is asked of a frame's statement.

    With no `argument` and no `member`, where the value of the call goes; else what the call's
    argument number `argument` refers to, or the object whose `member` it fills. `callee` is the
    name of the function called, empty when unknown; `suffix` follows the name found.
    """

    callee: str = ""
    argument: int = -1
    member: str = ""
    is_constructor: bool = False
    suffix: str = ""


def joined(name: str, suffix: str) -> str:
    """An expression and the suffix that follows it: `*p` and `.x` are `p->x`."""
    if name.startswith("*") and suffix.startswith("."):
        name, suffix = name[1:], "->" + suffix[1:]
    return tidy(name + suffix)


def tidy(text: str) -> str:
    """`text` of a source on one line, without control characters and of bounded length."""
    printable = "".join(c if c.isprintable() else " " for c in text[: 4 * LONGEST_NAME])
    line = " ".join(printable.split())
    return line if len(line) <= LONGEST_NAME else line[: LONGEST_NAME - 1] + "…"
