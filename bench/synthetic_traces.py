# SPDX-License-Identifier: Apache-2.0
"""Traces that are made, and not recorded, for benchmarks of what reads traces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from synthetic.pattern import Pattern


@dataclass(frozen=True)
class SyntheticTrace:
    """What its program does, or which dimension is large; and how it is made."""

    name: str
    pattern: Callable[[], Pattern]
