# SPDX-License-Identifier: Apache-2.0
"""The verb `run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from numascape import terminal
from numascape.errors import NumascapeError


def run(
    program: Annotated[
        list[str] | None,
        typer.Argument(
            help="The program and its arguments, after `--`.",
            metavar="-- PROGRAM ARGUMENTS",
            show_default=False,
        ),
    ] = None,
    sweep: Annotated[
        bool, typer.Option("--sweep", help="Make clean page cache leave the nodes first.")
    ] = False,
    local_strict: Annotated[
        bool,
        typer.Option(
            "--local-strict",
            help="Take memory only from the nodes whose CPUs the program may use: page cache "
            "leaves for it.",
        ),
    ] = False,
) -> None:
    """Run a program on clean, local memory.

    It is unchanged, and its output, input and exit status are its own.

    Example: `numascape run --sweep -- ./program 1000`
    """
    from numascape.host.programs import nodes_of_cpus, replace_this_process
    from numascape.host.state import read_state
    from numascape.host.sweeping import sweep as sweep_nodes

    if not program:
        raise NumascapeError("run what? name a program after --")
    state = read_state(Path("/"))
    nodes = nodes_of_cpus(state)
    if sweep:
        sweep_nodes(nodes, None, 0.0, True, lambda *_: None)
    if local_strict and len(nodes) > 1:
        terminal.say(
            f"note: the program may use CPUs of {len(nodes)} nodes and so the memory of all: "
            "start one process per node (numactl --cpunodebind, MPI) to be strict, or use --sweep"
        )
    replace_this_process(program, nodes if local_strict else [])
