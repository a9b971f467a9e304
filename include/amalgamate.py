# SPDX-License-Identifier: Apache-2.0
"""amalgamate.py OUTPUT: writes all headers into one file that includes only standard headers.

The adapters to other libraries (executor_*.hpp, boost_*.hpp) are left out.
"""

import re
import sys
from pathlib import Path

FOLDER = Path(__file__).parent / "numascape"
OWN = re.compile(r'^#include "numascape/(\w+\.hpp)"\n', re.MULTILINE)
OTHER = re.compile(r"#include <(.+)>\n")
LICENCE = "// SPDX-License-Identifier: Apache-2.0\n"


def in_order(name: str, done: list[str]) -> None:
    """Append what the header needs, and then the header itself, unless they are there already."""
    if name in done:
        return
    for needed in OWN.findall((FOLDER / name).read_text()):
        in_order(needed, done)
    done.append(name)


def without_includes(text: str) -> tuple[set[str], str]:
    """Return the standard headers that the text always includes, and the text without these lines.

    An include inside an #if remains where it is.
    """
    headers, rest, depth = set(), [], 0
    for line in text.splitlines(keepends=True):
        depth += line.startswith("#if") - line.startswith("#endif")
        if depth == 0 and (include := OTHER.fullmatch(line)):
            headers.add(include[1])
        else:
            rest.append(line)
    return headers, "".join(rest)


def amalgamated() -> str:
    """Return the text of the one header."""
    names: list[str] = []
    for path in sorted(FOLDER.glob("*.hpp")):
        if not path.name.startswith(("executor_", "boost_")):
            in_order(path.name, names)
    texts = [without_includes((FOLDER / name).read_text()) for name in names]
    includes = sorted(set().union(*(headers for headers, _ in texts)))
    lines = [
        LICENCE,
        "// Numascape's headers in one file, made by amalgamate.py.\n#pragma once\n\n",
    ]
    lines += [f"#include <{header}>\n" for header in includes]
    for name, (_, text) in zip(names, texts, strict=True):
        body = OWN.sub("", text).replace(LICENCE, "").replace("#pragma once\n", "")
        lines.append(f"\n// ---- {name} ----\n" + re.sub(r"\n{3,}", "\n\n", body))
    return "".join(lines)


if __name__ == "__main__":
    output = Path(sys.argv[1])
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(amalgamated())
