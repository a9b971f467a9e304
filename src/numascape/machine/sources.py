# SPDX-License-Identifier: Apache-2.0
"""Opens machines: this host, files, folders, synthetic descriptions, and shipped machines."""

from __future__ import annotations

import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Final

from numascape.errors import NumascapeError
from numascape.installation import installed_file
from numascape.machine.description import Machine, MachineNode, Provenance
from numascape.machine.document import decode_machine, read_bounded, read_machine
from numascape.machine.hwloc_xml import NEWEST_FORMAT, format_version, machine_from_xml
from numascape.machine.kernel_files import node_cpus, processor
from numascape.machine.topology import folder_text, topology_xml

_SYNTHETIC: Final = re.compile(
    r"(?i)^(\(.*\)\s*)?\[?(pack(age)?|socket|node|numa(node)?|group|die|core|pu|l\d+[di]?(cache)?)\b"
)


def open_machine(source: str | None) -> Machine:
    """Open the machine that `source` names; None is this host.

    A file is Numascape's JSON, hwloc's XML, or a tarball of /sys and /proc. A folder is a copy of
    /sys and /proc, or `/`. Otherwise it is the name of a shipped machine, or a synthetic
    description for hwloc, such as `package:2 node:2 core:8 pu:1`. Raises NumascapeError.
    """
    if source is None:
        return read_host()
    path = Path(source)
    try:
        exists, is_folder = path.exists(), path.is_dir()
    except (OSError, ValueError) as error:
        raise NumascapeError(f"there is no machine {source[:80]!r}") from error
    if is_folder:
        return read_root(path, source)
    if exists:
        return _read_file(path)
    if source in shipped_machines():
        return read_shipped(source)
    if _SYNTHETIC.match(source):
        return read_synthetic(source)
    raise NumascapeError(
        f"there is no machine {source[:80]!r}: give a file (JSON, hwloc XML, tarball), a folder "
        f"with sys and proc, a synthetic description, or one of {', '.join(shipped_machines())}"
    )


def read_host() -> Machine:
    """This host, read by hwloc."""
    machine = machine_from_xml(topology_xml("host", "", "this host"), "this host", firmware=True)
    return _by_kernel(machine, Path("/"))


def read_root(root: Path, name: str) -> Machine:
    """The host whose /sys and /proc are below `root`."""
    if folder_text(root) == "/":
        return read_host()
    if not (root / "sys").is_dir() and not (root / "proc").is_dir():
        raise NumascapeError(f"{name} is not a machine: the folder has neither sys/ nor proc/")
    text = topology_xml("root", folder_text(root), name)
    return _by_kernel(machine_from_xml(text, name, firmware=True), root)


def read_synthetic(text: str) -> Machine:
    """The machine of a synthetic description for hwloc, without the speed of its memory."""
    name = f"{text[:80]!r}"
    machine = machine_from_xml(topology_xml("synthetic", text, name), name, firmware=False)
    # hwloc invents memory of 1 GiB for each node, unless the description has sizes.
    if "memory=" not in text:
        machine = replace(
            machine, nodes=tuple(replace(node, memory_bytes=0) for node in machine.nodes)
        )
    # It also invents distances, which are the same for all nodes: an assumption.
    assumed = Provenance("assumed", "hwloc's default for synthetic machines")
    if machine.distances is not None:
        machine = replace(machine, distances=replace(machine.distances, provenance=assumed))
    return replace(
        machine,
        latencies=tuple(replace(matrix, provenance=assumed) for matrix in machine.latencies),
        bandwidths=tuple(replace(matrix, provenance=assumed) for matrix in machine.bandwidths),
    )


def read_xml(path: Path) -> Machine:
    """The machine of an hwloc XML file of any version.

    hwloc 2 converts older files. It refuses files of hwloc 3, but they have all that we read, too.
    """
    text = read_bounded(path)
    if (version := format_version(text)) > NEWEST_FORMAT:
        raise NumascapeError(
            f"{path} has hwloc's XML format {version}, and {NEWEST_FORMAT} is the newest that can "
            "be read: export it with `lstopo --export-xml-flags v2`"
        )
    if version < NEWEST_FORMAT:
        text = topology_xml("xml", str(path.resolve()), str(path))
    return machine_from_xml(text, str(path), firmware=False)


def read_tarball(path: Path) -> Machine:
    """The host whose /sys and /proc are in a tarball."""
    # Imported here, because no other source needs readers of compressed files.
    from numascape.machine.snapshots import unpack

    with tempfile.TemporaryDirectory(prefix="numascape-machine-") as folder:
        return read_root(unpack(path, Path(folder)), str(path))


def shipped_machines() -> list[str]:
    """The names of the machines that come with Numascape."""
    return sorted(path.stem for path in installed_file("machines").glob("*.json"))


def read_shipped(name: str) -> Machine:
    """A machine that comes with Numascape, by its name."""
    return read_machine(installed_file(f"machines/{name}.json"))


def _read_file(path: Path) -> Machine:
    try:
        with path.open("rb") as file:
            start = file.read(512).lstrip()
    except OSError as error:
        raise NumascapeError(f"cannot read {path}: {error.strerror}") from error
    if start.startswith(b"{"):
        return decode_machine(read_bounded(path), str(path))
    if start.startswith(b"<"):
        return read_xml(path)
    if path.is_file() and _is_tarball(path):
        return read_tarball(path)
    raise NumascapeError(
        f"{path} is not a machine: it is neither JSON nor hwloc XML nor a tarball of /sys and /proc"
    )


def _is_tarball(path: Path) -> bool:
    import tarfile

    return tarfile.is_tarfile(path)


def _by_kernel(machine: Machine, root: Path) -> Machine:
    """The machine, with each CPU on the node that the kernel's files say.

    If the kernel does not support NUMA, or if its files have other CPUs than hwloc, hwloc's nodes
    are kept.
    """
    machine = replace(machine, name=processor(root) or machine.name)
    kernel, every = node_cpus(root), set(machine.cpus)
    mine = {node.node: tuple(cpu for cpu in kernel.get(node.node, ()) if cpu in every)
            for node in machine.nodes}  # fmt: skip
    if set(mine) - set(kernel) or sorted(cpu for cpus in mine.values() for cpu in cpus) != sorted(
        every
    ):
        return machine
    nodes = (
        MachineNode(node.node, mine[node.node], node.memory_bytes, node.kind)
        for node in machine.nodes
    )
    return replace(machine, nodes=tuple(nodes))
