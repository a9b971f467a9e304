# SPDX-License-Identifier: Apache-2.0
"""Parses lists of nodes from the user."""

from __future__ import annotations

from numascape.errors import NumascapeError
from numascape.machine.kernel_lists import parse_cpu_list


def parse_nodes(text: str, known: list[int]) -> list[int]:
    """Nodes such as `0,2-3`, each once, in this order.

    Raises NumascapeError if it is not a list or a node is not `known`.
    """
    try:
        nodes = parse_cpu_list(text)
    except ValueError as error:
        raise NumascapeError(f"{text!r} is not a list of nodes: write it as 0,2-3") from error
    if not nodes:
        raise NumascapeError("the list of nodes is empty: write it as 0,2-3")
    for node in nodes:
        if node not in known:
            have = ", ".join(map(str, known))
            raise NumascapeError(f"there is no node {node} here: the nodes are {have}")
    return list(dict.fromkeys(nodes))
