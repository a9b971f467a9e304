# SPDX-License-Identifier: Apache-2.0
"""Constructed traces for benchmarks of code that reads traces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from synthetic.pattern import Pattern


@dataclass(frozen=True)
class SyntheticTrace:
    """A trace by what its program does or by its large dimension, and how the trace is made."""

    name: str
    pattern: Callable[[], Pattern]
