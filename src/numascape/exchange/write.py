# SPDX-License-Identifier: Apache-2.0
"""Writes a trace as one file for another tool."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

from numascape.atomic import replacing_file
from numascape.errors import NumascapeError
from numascape.exchange.callgrind import callgrind_profile
from numascape.exchange.chrome_trace import chrome_trace
from numascape.exchange.speedscope import speedscope_profile
from numascape.trace import Trace
from numascape.trace.counting import only_touches

ToolFormat = Literal["callgrind", "chrome", "speedscope"]

_WRITERS: Final[dict[ToolFormat, Callable[[Trace], str]]] = {
    "callgrind": callgrind_profile,
    "chrome": lambda trace: json.dumps(chrome_trace(trace)),
    "speedscope": lambda trace: json.dumps(speedscope_profile(trace)),
}


def write_for_tool(trace: Trace, tool: ToolFormat, file: Path) -> None:
    """Write the file, replacing an older one when the new one is complete.

    Raises NumascapeError if the trace has nothing for this format, or the file cannot be written.
    """
    if tool == "callgrind" and not trace.source_lines.height:
        reason = (
            "it has only first touches, no accesses"
            if only_touches(trace)
            else "it was recorded without source lines"
        )
        raise NumascapeError(f"cannot write a callgrind profile of {trace.path}: {reason}")
    text = _WRITERS[tool](trace)
    try:
        with replacing_file(file) as beside:
            beside.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise NumascapeError(f"cannot write {file}: {error.strerror or error}") from error
