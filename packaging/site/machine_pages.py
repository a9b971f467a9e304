# SPDX-License-Identifier: Apache-2.0
"""A page for each shipped machine, with its values, their sources, and its picture."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from numascape.figures.machine_file import save_machine
from numascape.machine import Machine, open_machine, shipped_machines
from numascape.quantities import bytes_text


def write_machines(folder: Path, pictured: Collection[str]) -> None:
    """Write the pages, and the pictures of the machines that are named; of all if none is."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for name in shipped_machines():
        machine = open_machine(name)
        picture = ""
        if not pictured or name in pictured:
            save_machine(machine, folder / f"{name}.svg")
            picture = (
                f"![Packages, nodes, caches and CPUs, and what is known between nodes]({name}.svg)"
            )
        (folder / f"{name}.md").write_text(machine_page(name, machine, picture))
        rows.append(f"| [{name}]({name}.md) | {machine.name} | {len(machine.nodes)} |")
    index = [
        "# Machines",
        "",
        "These machines are shipped with Numascape. `--machine NAME` predicts a run on one.",
        "",
        "| name | machine | nodes |",
        "|---|---|--:|",
        *rows,
        "",
    ]
    (folder / "overview.md").write_text("\n".join(index))


def machine_page(name: str, machine: Machine, picture: str) -> str:
    """The content of the machine's document, with its sources."""
    parts = [f"# {machine.name}", "", f"    numascape machine show {name}", "", picture, ""]
    parts += ["| node | CPUs | memory | kind |", "|--:|--:|--:|---|"]
    for node in machine.nodes:
        memory = bytes_text(node.memory_bytes) if node.memory_bytes else ""
        parts.append(f"| {node.node} | {len(node.cpus)} | {memory} | {node.kind} |")
    sources = [("topology", machine.provenance)]
    for quantity in ("factors", "latencies", "bandwidths", "controllers", "loaded_latency"):
        known = [(quantity.replace("_", " "), one.provenance) for one in getattr(machine, quantity)]
        sources += known
    parts += ["", "## Sources", ""]
    parts += [
        f"- {quantity}: {of.kind}{f' {of.date}' if of.date else ''}: {of.source or 'no source'}"
        for quantity, of in dict.fromkeys(sources)
        if of is not None
    ]
    if machine.notes:
        parts += ["", "## Notes", "", *(f"- {note}" for note in machine.notes)]
    return "\n".join([*parts, ""])
