# SPDX-License-Identifier: Apache-2.0
"""Prints the verification of a plan as tables: planned and actual nodes and CPUs."""

from __future__ import annotations

import dataclasses
from typing import Any

from rich.console import Console

from numascape.console.tables import name, part_text, table_of
from numascape.machine.kernel_lists import format_cpu_list
from numascape.placement.verifying import ProcessResult, Verification
from numascape.quantities import bytes_text

_MAX_THREADS = 64


def print_verification(found: Verification, console: Console) -> None:
    """Print a table of structures, a table of threads, and what hindered the plan."""
    if not found.processes:
        console.print("the plan was not applied: no process ran the program that it is for")
        return
    if found.structures:
        console.print(_structures(found, console.width))
    if any(thread.planned for thread in found.threads):
        console.print(_threads(found, console.width))
    for process in found.processes:
        for line in _hindrances(process):
            console.print(name(line), soft_wrap=True)


def _structures(found: Verification, width: int) -> Any:
    rows = []
    for item in found.structures:
        touched = item.right + item.elsewhere
        is_judged = item.policy != "first-touch" and touched > 0
        share = part_text(item.right, touched) if is_judged else ""
        nodes = ", ".join(f"{node}: {pages}" for node, pages in item.nodes.items())
        row = (str(item.instances), bytes_text(item.bytes), item.policy, item.planned)
        unmet = (
            "" if item.policy == "first-touch" else "not met" if not item.instances else "untouched"
        )
        rows.append((name(item.name), *row, share, nodes or unmet))
    headings = (
        "structure",
        "instances",
        "size",
        "policy",
        "on nodes",
        "as planned",
        "pages by node",
    )
    return table_of(
        headings, rows, width, text=("structure", "policy", "on nodes", "pages by node")
    )


def _threads(found: Verification, width: int) -> Any:
    planned = [thread for thread in found.threads if thread.planned]
    rows = [
        (
            str(thread.process),
            str(thread.order),
            "" if thread.openmp is None else str(thread.openmp),
            format_cpu_list(thread.planned),
            "" if thread.last_cpu is None else str(thread.last_cpu),
            "yes" if thread.is_right else "no",
        )
        for thread in planned[:_MAX_THREADS]
    ]
    if len(planned) > _MAX_THREADS:
        right = sum(thread.is_right for thread in planned)
        rows.append((f"{len(planned)} in total", "", "", "", "", f"{right} yes"))
    headings = ("process", "thread", "OpenMP", "CPUs planned", "last on", "as planned")
    return table_of(headings, rows, width)


def _hindrances(process: ProcessResult) -> list[str]:
    lines = []
    if process.ending == "not seen":
        lines.append("it ended, or executed another program, before its pages were examined")
    if process.unanswered:
        lines.append(f"{process.unanswered} call stacks could not be named")
    if process.refused:
        lines.append(f"the kernel refused {process.refused} requests to place its pages or threads")
    if process.crowded:
        lines.append(f"{process.crowded} blocks were not placed: it has too many mappings")
    return [f"process {process.process} ({process.program}): {line}" for line in lines]


def as_plain_data(found: Verification) -> dict[str, Any]:
    """The verification as plain data, for JSON."""
    return {
        "structures": [
            {**dataclasses.asdict(item), "share": item.share, "nodes": _texts(item.nodes)}
            for item in found.structures
        ],
        "threads": [dataclasses.asdict(thread) for thread in found.threads],
        "processes": [dataclasses.asdict(process) for process in found.processes],
    }


def _texts(nodes: dict[int, int]) -> dict[str, int]:
    return {str(node): pages for node, pages in nodes.items()}
