# SPDX-License-Identifier: Apache-2.0
"""Reads the data that a report's page holds, as report/encode.py describes it."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import numpy as np


def decode(text: str) -> tuple[dict[str, Any], bytes]:
    """The JSON of a report's base64 text, and its columns' bytes."""
    block = zlib.decompress(base64.b64decode(text))
    length = int.from_bytes(block[:4], "little")
    return json.loads(block[4 : 4 + length]), block[4 + length :]


def column(planes: bytes, stored: dict[str, Any]) -> list[int]:
    """The values of one column."""
    n, width = stored["length"], stored["bytes"]
    part = np.frombuffer(planes, np.uint8, n * width, stored["at"]).reshape(width, n)
    values = [int.from_bytes(bytes(value), "little") for value in part.T]
    if stored["delta"]:
        steps = [-(v + 1) // 2 if v % 2 else v // 2 for v in values]
        values = np.cumsum(np.array(steps, object)).tolist() if steps else []
    return values
