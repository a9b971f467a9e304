# SPDX-License-Identifier: Apache-2.0
"""The machines that a reader of the page can choose from."""

from __future__ import annotations

from collections.abc import Sequence

from numascape.machine.description import Machine
from numascape.machine.sources import open_machine, shipped_machines
from numascape.report.machine import on_machine
from numascape.trace import Trace

EVERY = "all"
"""Stands for all shipped machines."""
TYPICAL = ("xeon-sapphire-rapids-2s", "epyc-9354p-nps4", "xeon-x7550")
"""Two sockets, four nodes in one socket, and four sockets. A page of a run that was recorded on one
node offers them, because such a run shows nothing about nodes."""


def shown_and_others(trace: Trace, given: Sequence[str]) -> tuple[Trace, tuple[Machine, ...]]:
    """The trace on the machine that the page shows first, and the machines to choose besides.

    `given` names machines, as `open_machine` takes them; `all` stands for the shipped ones. If it
    is empty, the recorded machine is shown. Raises NumascapeError.
    """
    if not given:
        nodes = sum(bool(node.cpus) for node in trace.info.machine.nodes)
        names: Sequence[str] = TYPICAL if nodes < 2 else ()
        return trace, tuple(open_machine(name) for name in names)
    named = [one for name in given for one in (shipped_machines() if name == EVERY else [name])]
    machines = [open_machine(name) for name in dict.fromkeys(named)]
    if given[0] == EVERY:
        return trace, tuple(machines)
    return on_machine(trace, machines[0]), tuple(machines[1:])
