# SPDX-License-Identifier: Apache-2.0
"""Recording from Python."""

from __future__ import annotations

import inspect
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from numascape.api.opened_trace import OpenedTrace
from numascape.errors import NumascapeError
from numascape.recorders.record import record as run_recorder
from numascape.recording.option_fields import named_options
from numascape.recording.options import RecordKeywords, RecordOptions, record_options
from numascape.recording.request import RecordRequest

if TYPE_CHECKING:
    from typing_extensions import Unpack


def record(
    program: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str] | None = None,
    **options: Unpack[RecordKeywords],
) -> OpenedTrace:
    """Run a program, record it, and open its trace. The options are those of `numascape record`.

    `program` is the program and its arguments. `output` is the folder of the trace; None is a
    folder in the directory for temporary files, which is not removed. The option `--no-stack` is
    `stack=False` here, and a cache is a text such as "2M,16,64".

    Raises NumascapeError if the program cannot be recorded. `trace.info.exit_status` is its exit
    status.
    """
    if isinstance(program, str):
        words = ", ".join(repr(word) for word in program.split())
        raise NumascapeError(f"the program is not a list: use numascape.record([{words}])")
    command = [os.fspath(word) for word in program]
    if not command:
        raise NumascapeError("no program given: use numascape.record([PROGRAM, ARGUMENT, ...])")
    asked = record_options(options)
    target = Path(output) if output is not None else _temporary(command[0])
    run_recorder(RecordRequest(command, target, asked, quiet=True), lambda _: None)
    return OpenedTrace.read(target)


def _temporary(program: str) -> Path:
    return Path(tempfile.mkdtemp(prefix="numascape-")) / f"{Path(program).name}.numascape"


def _with_named_options(signature: inspect.Signature) -> inspect.Signature:
    """The signature with each option: `help` and the Tab key show it."""
    own = [one for one in signature.parameters.values() if one.kind != one.VAR_KEYWORD]
    options = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=one.type
        )
        for name, one in named_options(RecordOptions).items()
    ]
    return signature.replace(parameters=[*own, *options])


vars(record).update(__signature__=_with_named_options(inspect.signature(record)))
