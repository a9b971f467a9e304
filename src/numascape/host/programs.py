# SPDX-License-Identifier: Apache-2.0
"""Replaces this process by a program with a memory policy."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import NoReturn

from numascape.errors import NumascapeError
from numascape.host.state import HostState
from numascape.installation import installed_file
from numascape.machine.kernel_files import node_cpus


def nodes_of_cpus(state: HostState) -> list[int]:
    """The nodes with memory whose CPUs this process may use."""
    usable = os.sched_getaffinity(0)
    owners = {node for node, cpus in node_cpus(Path("/")).items() if usable & set(cpus)}
    chosen = [node for node in state.numbers if node in owners and state.allowed(node)]
    return chosen or [node for node in state.numbers if state.allowed(node)]


def replace_this_process(program: list[str], nodes: list[int]) -> NoReturn:
    """Become the program, with memory from `nodes` only, or with the default policy if empty.

    Raises NumascapeError if there is no such program.
    """
    command = [*bound_to(nodes), *program]
    if nodes:
        _check(program[0])
    # Python ignores these signals; the program must start with their default actions.
    ignored = {
        number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGPIPE, signal.SIGXFSZ)
    }
    try:
        os.execvp(command[0], command)
    except OSError as error:
        for number, handler in ignored.items():
            signal.signal(number, handler)
        raise NumascapeError(f"{program[0]} cannot be run: {error.strerror}") from error


def bound_to(nodes: list[int]) -> list[str]:
    """The command prefix that binds a program's memory to `nodes`; empty if `nodes` is empty."""
    return [str(installed_file("_host/bound-run")), ",".join(map(str, nodes))] if nodes else []


def _check(name: str) -> None:
    import shutil

    if shutil.which(name) is None:
        raise NumascapeError(f"{name} cannot be run: there is no such program")
