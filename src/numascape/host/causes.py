# SPDX-License-Identifier: Apache-2.0
"""Finds why an allocation would not be local, and what this user can do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from numascape.host.allocation import PredictedAllocation, Share
from numascape.host.node_memory import NodeMemory
from numascape.host.state import HostState
from numascape.quantities import bytes_text

# Causes with a smaller share of the spilled bytes are left out.
_WORTH_NAMING: Final = 0.05
_MAX_MOUNTS: Final = 3


@dataclass(frozen=True)
class Cause:
    """A use of a node's memory, its size in bytes, and the fix: a sentence, or a command."""

    node: int | None
    what: str
    size: int
    fix: str


def find_causes(state: HostState, prediction: PredictedAllocation, root_user: bool) -> list[Cause]:
    """The causes for each node that spills, and then the limit of the control group.

    The causes of a node are listed until they explain nearly all its spilled bytes. Causes that are
    easy to fix come first.
    """
    causes = []
    for share in prediction.shares:
        if share.spilled:
            causes += _of_node(state, share, root_user)
    group = state.limits.group
    if prediction.over_limit and group:
        causes.append(
            Cause(None, f"the control group {group.group} allows {bytes_text(group.left)} more",
                  prediction.over_limit, "ask for a job with more memory, or use less")
        )  # fmt: skip
    return causes


def _of_node(state: HostState, share: Share, root_user: bool) -> list[Cause]:
    number = share.node
    node = state.node(number)
    if not share.allowed:
        what = f"a cpuset forbids this process the memory of node {number}"
        return [Cause(number, what, share.spilled, "ask for a job on that node")]
    worth = _WORTH_NAMING * share.spilled
    found = [*_caches(node, root_user), *_kept(state, node)]
    named, left = [], share.spilled
    for cause in found:
        if left > worth and cause.size > worth:
            named.append(cause)
            left -= cause.size
    if share.wanted > node.total:
        text = f"node {number} has {bytes_text(node.total)} of memory in all"
        named.insert(0, Cause(number, text, share.wanted - node.total, "spread it over more nodes"))
    return named


def _caches(node: NodeMemory, root_user: bool) -> list[Cause]:
    number = node.node
    verb = "drop" if root_user else "sweep"
    command = f"numascape host {verb} --node {number}"
    return [
        Cause(number, "clean page cache", node.clean, command),
        Cause(number, "dirty page cache", node.dirty, f"sync && {command}"),
    ]


def _kept(state: HostState, node: NodeMemory) -> list[Cause]:
    number = node.node
    mounts = ", ".join(
        f"{files.path} ({bytes_text(files.used)})" for files in state.temporary_files[:_MAX_MOUNTS]
    )
    delete = f"delete files in {mounts}" if mounts else "end the programs that share memory"
    return [
        Cause(number, "tmpfs and shared memory, which a sweep cannot free", node.shared, delete),
        Cause(number, "unused huge pages that are set aside", node.huge_free,
              f"as root: echo 0 >/sys/devices/system/node/node{number}/hugepages/"
              "hugepages-2048kB/nr_hugepages"),
        Cause(number, "page cache that programs have mapped", node.mapped, "end these programs"),
        Cause(number, "programs' own memory", node.anonymous,
              "end these programs, or use another node"),
        Cause(number, "the kernel's own memory", node.slab - node.slab_reclaimable + node.other,
              "use another node, or restart the host"),
    ]  # fmt: skip
