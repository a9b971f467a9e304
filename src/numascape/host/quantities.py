# SPDX-License-Identifier: Apache-2.0
"""Quantities that a user gives: bytes with a unit, lists of nodes."""

from __future__ import annotations

import re

from numascape.errors import NumascapeError
from numascape.machine.kernel_lists import parse_cpu_list

_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:I?B)?", re.IGNORECASE)


def parse_bytes(text: str) -> int:
    """Bytes such as `8G`, `512MiB`, `1.5T`, `4096`; units are powers of 1024.

    Raises NumascapeError when it is no such quantity.
    """
    match = _QUANTITY.fullmatch(text.strip())
    if match is None:
        raise NumascapeError(f"{text!r} is no amount of memory: write it as 8G, 512M or 4096")
    return int(float(match[1]) * (1 << _UNITS[match[2].upper()]))


def parse_nodes(text: str, known: list[int]) -> list[int]:
    """Nodes such as `0,2-3`; raises NumascapeError when it is no list or one is not `known`."""
    try:
        nodes = parse_cpu_list(text)
    except ValueError as error:
        raise NumascapeError(f"{text!r} is no list of nodes: write it as 0,2-3") from error
    if not nodes:
        raise NumascapeError("the list of nodes is empty: write it as 0,2-3")
    for node in nodes:
        if node not in known:
            have = ", ".join(map(str, known))
            raise NumascapeError(f"there is no node {node} here: the nodes are {have}")
    return sorted(set(nodes))
