# SPDX-License-Identifier: Apache-2.0
"""The facts of a trace that do not depend on a machine, computed once for all machines."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from numascape.trace import Trace

T = TypeVar("T")


def kept(trace: Trace, name: object, compute: Callable[[], T]) -> T:
    """The result, kept with the trace under this name; it is freed with the trace."""
    results: dict[object, object] = vars(trace).setdefault("_kept_for_findings", {})
    if name not in results:
        results[name] = compute()
    return cast("T", results[name])
