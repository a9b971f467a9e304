# SPDX-License-Identifier: Apache-2.0
"""Results that depend only on a trace: computed once, and used for every machine."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar, cast

from numascape.trace.trace import Trace

T = TypeVar("T")


def once_per_trace(compute: Callable[[Trace], T]) -> Callable[[Trace], T]:
    """Keep the result with the trace, which never changes; it is freed with the trace."""
    # Names that begin with _ are not offered when a user presses Tab behind `trace.`.
    name = f"_{compute.__module__}.{compute.__qualname__}"

    @wraps(compute)
    def kept(trace: Trace) -> T:
        results = vars(trace)
        if name not in results:
            results[name] = compute(trace)
        return cast("T", results[name])

    return kept
