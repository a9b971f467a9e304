# SPDX-License-Identifier: Apache-2.0
"""Results that depend only on a trace: computed once, and used for every machine."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import TypeVar, cast

from numascape.trace.trace import Trace

T = TypeVar("T")


def once_per_trace(compute: Callable[[Trace], T]) -> Callable[[Trace], T]:
    """Keep the result of the function for each trace."""

    @wraps(compute)
    def kept(trace: Trace) -> T:
        return kept_with(trace, compute, lambda: compute(trace))

    return kept


def kept_with(trace: Trace, key: Hashable, compute: Callable[[], T]) -> T:
    """The result that this trace keeps with this key; it is freed with the trace."""
    if key not in trace._results:
        trace._results[key] = compute()
    return cast("T", trace._results[key])
