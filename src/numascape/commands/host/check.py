# SPDX-License-Identifier: Apache-2.0
"""The verb `host check`."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from numascape import terminal
from numascape.commands._options import JsonOption
from numascape.commands.host.show import RootOption
from numascape.errors import NumascapeError

if TYPE_CHECKING:
    from numascape.host.allocation import PredictedAllocation, Share
    from numascape.host.causes import Cause
    from numascape.host.state import HostState


def check(
    bytes_per_node: Annotated[
        str | None,
        typer.Option(
            "--bytes-per-node",
            metavar="BYTES",
            help="The memory that the threads of each node use, such as 8G; with --nodes also one "
            "amount for each of them, such as 8G,2G.",
            show_default=False,
        ),
    ] = None,
    nodes: Annotated[
        str | None,
        typer.Option(
            "--nodes",
            metavar="NODES",
            help="Only on these nodes, for example 0,1.",
            show_default=False,
        ),
    ] = None,
    like: Annotated[
        Path | None,
        typer.Option(
            "--like",
            metavar="TRACE",
            help="As much as this recorded program used on each node.",
            show_default=False,
        ),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            "--plan",
            metavar="FILE",
            help="What this plan puts on each node; with --like, for a run of that size.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
    root: RootOption = Path("/"),
) -> None:
    """Predict whether the memory of a program would be local; exit status 1 if not.

    For the threads on each node, it predicts how much of their memory would be on which node. It
    says why, and which fix your privileges allow. Use it in prologs of batch systems and in CI.

    Example: `numascape host check --bytes-per-node 8G --nodes 0,1`
    """  # fmt: skip
    from numascape.host.allocation import predict_allocation
    from numascape.host.causes import find_causes
    from numascape.host.state import read_state

    state = read_state(root)
    wanted = _wanted(state, root, bytes_per_node, nodes, like, plan)
    prediction = predict_allocation(state, wanted)
    causes = find_causes(state, prediction, os.geteuid() == 0)
    if as_json:
        print(json.dumps(_document(prediction, causes), indent=1))
    else:
        _print(prediction, causes)
    raise typer.Exit(0 if prediction.local else 1)


def _wanted(
    state: HostState,
    root: Path,
    bytes_per_node: str | None,
    nodes: str | None,
    like: Path | None,
    plan: Path | None,
) -> dict[int, int]:
    from numascape.host.nodes import parse_nodes
    from numascape.quantities import parse_bytes

    if (bytes_per_node is None) == (like is None and plan is None):
        raise NumascapeError(
            "nothing to check: give one of --bytes-per-node 8G, --like TRACE and --plan FILE"
        )
    if bytes_per_node is None and nodes is not None:
        raise NumascapeError(
            "--nodes needs --bytes-per-node: traces and plans have their own nodes"
        )
    if plan is not None:
        return _planned(state, plan, like, root)
    if like is not None:
        from numascape.host.demand import traced_bytes

        return traced_bytes(like, state.numbers)
    if nodes is not None:
        chosen = parse_nodes(nodes, state.numbers)
    else:
        chosen = [node for node in state.numbers if state.allowed(node)]
    amounts = [parse_bytes(amount) for amount in (bytes_per_node or "").split(",")]
    if len(amounts) == 1:
        return dict.fromkeys(chosen, amounts[0])
    if nodes is None or len(amounts) != len(chosen):
        raise NumascapeError(
            f"--bytes-per-node has {len(amounts)} amounts: give --nodes with as many nodes"
        )
    return dict(zip(chosen, amounts, strict=True))


def _planned(state: HostState, plan: Path, like: Path | None, root: Path) -> dict[int, int]:
    from numascape.machine.description import Machine, MachineNode
    from numascape.machine.kernel_files import node_cpus
    from numascape.placement.planned_bytes import planned_bytes, planned_bytes_of_run
    from numascape.plan.document import read_plan
    from numascape.trace import Trace

    read = read_plan(plan)
    cpus = node_cpus(root)
    # Memory sizes are left out here: whether the memory is enough is predicted later.
    nodes = (MachineNode(node, tuple(cpus.get(node, ())), 0) for node in state.numbers)
    machine = Machine("this host", tuple(nodes))
    if like is None:
        return planned_bytes(read, machine)
    return planned_bytes_of_run(read, Trace.read(like), machine)


def _print(prediction: PredictedAllocation, causes: list[Cause]) -> None:
    from numascape.quantities import bytes_text

    console = terminal.output()
    for share in prediction.shares:
        console.print(terminal.printable(_share_text(share)), soft_wrap=True)
        for cause in causes:
            if cause.node == share.node:
                line = f"  {bytes_text(cause.size)} {cause.what}; fix: {cause.fix}"
                console.print(terminal.printable(line), soft_wrap=True)
    for cause in causes:
        if cause.node is None:
            line = f"{bytes_text(cause.size)} too much: {cause.what}; fix: {cause.fix}"
            console.print(terminal.printable(line), soft_wrap=True)


def _share_text(share: Share) -> str:
    from numascape.quantities import bytes_text

    if not share.spilled:
        return f"node {share.node}: {bytes_text(share.wanted)} would be local"
    places = [f"{bytes_text(size)} would go to node {n}" for n, size in share.elsewhere.items()]
    if share.reclaimed:
        places.append(f"{bytes_text(share.reclaimed)} to nodes where the kernel frees page cache")
    if share.missing:
        places.append(f"{bytes_text(share.missing)} would not fit on any node")
    return (
        f"node {share.node}: {bytes_text(share.spilled)} of {bytes_text(share.wanted)} would not "
        f"be local: {', '.join(places)}"
    )


def _document(prediction: PredictedAllocation, causes: list[Cause]) -> dict[str, object]:
    return {
        "local": prediction.local,
        "over_limit": prediction.over_limit,
        "nodes": [{**asdict(share), "spilled": share.spilled} for share in prediction.shares],
        "causes": [asdict(cause) for cause in causes],
    }
