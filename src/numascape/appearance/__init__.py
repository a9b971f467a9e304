# SPDX-License-Identifier: Apache-2.0
"""Colours and styles of figures and of the terminal. Importing this package loads nothing."""

from __future__ import annotations

from typing import Final

COLUMN_CM: Final = 8.5
"""Width of a column in the common two-column layouts (IEEE, ACM), in centimetres."""
