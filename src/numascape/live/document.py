# SPDX-License-Identifier: Apache-2.0
"""Snapshots for programs: a JSON document, and Prometheus' text format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, Final

from numascape.live.affinity import ThreadResults
from numascape.live.file_parts import by_offset
from numascape.live.moving import Account
from numascape.live.shared_files import FileKey, SharedFile
from numascape.live.snapshot import PartCount, Snapshot
from numascape.live.structures import Structure, node_uses, structures_of, swapped_bytes
from numascape.live.together import Together, together
from numascape.machine.kernel_lists import format_cpu_list

# Prometheus keeps a time series for each structure, so their number is limited.
_MAX_STRUCTURES: Final = 20


def pages_document(
    snapshots: Sequence[Snapshot], files: dict[FileKey, SharedFile] | None = None
) -> dict[str, Any]:
    """The snapshots as plain data, in bytes; `files` are those that several processes map."""
    several = len(snapshots) > 1
    return {
        "format": "numascape pages",
        "version": 1,
        "together": _together(together(snapshots, files or {}, True)) if several else None,
        "processes": [_process(snapshot) for snapshot in snapshots],
    }


def _together(found: Together) -> dict[str, Any]:
    """All processes, with each page of a shared file once."""
    pids = [snapshot.target.pid for snapshot in found.snapshots]
    return {
        "nodes": [asdict(use) for use in found.nodes],
        "structures": [
            {
                **_structure(item),
                "shared": item.shared,
                "pids": [pids[number] for number in sorted(item.processes)],
            }
            for item in found.structures
        ],
    }


def _process(snapshot: Snapshot) -> dict[str, Any]:
    return {
        "pid": snapshot.target.pid,
        "name": snapshot.target.name,
        "started": snapshot.target.started,
        "time_s": snapshot.time_s,
        "sampled": None if snapshot.every == 1 else {"one_window_in": snapshot.every},
        "huge_pages_told": snapshot.huge_told,
        "swapped": swapped_bytes(snapshot),
        "nodes": [
            {**asdict(use), "cpus": format_cpu_list(snapshot.nodes.get(use.node, ()))}
            for use in node_uses(snapshot)
        ],
        "structures": [
            {**_structure(item), "by_offset": _by_offset(snapshot, item)}
            for item in structures_of(snapshot)
        ],
        "mappings": _mapping_rows(snapshot),
        "threads": [
            {
                "tid": thread.tid,
                "name": _text(thread.name),
                "cpu": thread.cpu,
                "node": thread.node,
                "cpus": format_cpu_list(thread.cpus),
            }
            for thread in snapshot.threads
        ],
    }


def _mapping_rows(snapshot: Snapshot) -> list[dict[str, Any]]:
    """The mappings with their parts, and the bytes of these."""
    by_part: dict[int, list[PartCount]] = {}
    for count in snapshot.counts:
        by_part.setdefault(count.part, []).append(count)
    return [
        {
            "start": f"{mapping.start:#x}",
            "end": f"{mapping.end:#x}",
            "permissions": mapping.permissions,
            "offset": mapping.offset,
            "path": _text(mapping.path),
            "policy": mapping.policy or None,
            "page_bytes": mapping.page_bytes,
            "parts": [
                {
                    "start": f"{part.start:#x}",
                    "bytes": part.end - part.start,
                    "name": _text(part.name),
                    "kind": part.kind,
                    "layer": part.layer,
                    "in_memory": [
                        {
                            "node": count.node,
                            "memory": count.memory,
                            "page_bytes": count.page_bytes,
                            "bytes": count.bytes,
                        }
                        for count in by_part.get(index, ())
                    ],
                }
                for index, part in parts
            ],
        }
        for mapping, parts in _mappings(snapshot)
    ]


def _mappings(snapshot: Snapshot) -> Iterator[tuple[Any, list[tuple[int, Any]]]]:
    by_mapping: dict[int, list[tuple[int, Any]]] = {}
    for index, part in enumerate(snapshot.parts):
        by_mapping.setdefault(part.mapping, []).append((index, part))
    for number, mapping in enumerate(snapshot.mappings):
        yield mapping, by_mapping.get(number, [])


def _structure(item: Structure) -> dict[str, Any]:
    return {
        "name": _text(item.name),
        "kind": item.kind,
        "file": _text(item.file),
        "source": _text(item.source),
        "virtual": item.virtual,
        "anonymous": item.anonymous,
        "mapped_file": item.mapped_file,
        "swapped": item.swapped,
        "huge": item.huge,
        "page_sizes": {str(size): count for size, count in sorted(item.page_sizes.items())},
        "policies": sorted(item.policies),
        "nodes": _nodes(item),
    }


def _by_offset(snapshot: Snapshot, item: Structure) -> list[dict[str, Any]]:
    return [
        {"offset": part.offset, "bytes": part.structure.virtual, "nodes": _nodes(part.structure)}
        for part in by_offset(snapshot, item)
    ]


def _nodes(item: Structure) -> dict[str, int]:
    return {str(node): count for node, count in sorted(item.nodes.items())}


def _text(name: str) -> str:
    """Names of files may be any bytes; JSON has no lone surrogates."""
    return name.encode(errors="surrogateescape").decode(errors="replace")


def account_document(account: Account, threads: ThreadResults | None) -> dict[str, Any]:
    """The result of a move as plain data."""
    return {
        "moved": [
            {"from": before, "to": now, "bytes": total}
            for (before, now), total in sorted(account.moved.items())
        ],
        "not_moved": dict(account.failed),
        "pinned": account.pinned,
        "tried": account.tried,
        "verified": account.verified,
        "ended_early": account.ending or None,
        "steps": account.steps,
        "longest_step_s": account.longest_s,
        "threads_moved": None if threads is None else threads.moved,
        "threads_not_moved": None if threads is None else threads.failed,
    }


def process_prometheus(snapshots: Sequence[Snapshot]) -> str:
    """The snapshots in the text format that Prometheus and node_exporter read."""
    return "\n".join(_lines(snapshots)) + "\n"


def _lines(snapshots: Sequence[Snapshot]) -> Iterator[str]:
    named = [(_labels(one), one) for one in snapshots]
    yield from _head("numascape_process_memory_bytes", "Memory of a process on a node.")
    for labels, one in named:
        for use in node_uses(one):
            for memory, count in (("anonymous", use.anonymous), ("file", use.mapped_file)):
                place = f'{labels},node="{use.node}",memory="{memory}"'
                yield f"numascape_process_memory_bytes{{{place}}} {count}"
    yield from _head("numascape_process_huge_page_bytes", "Memory in pages of 2 MiB or more.")
    for labels, one in named:
        for use in node_uses(one):
            yield f'numascape_process_huge_page_bytes{{{labels},node="{use.node}"}} {use.huge}'
    yield from _head("numascape_process_threads", "Threads whose last CPU is on a node.")
    for labels, one in named:
        for use in node_uses(one):
            yield f'numascape_process_threads{{{labels},node="{use.node}"}} {use.threads}'
    yield from _head("numascape_process_swapped_bytes", "Memory of a process in swap.")
    for labels, one in named:
        yield f"numascape_process_swapped_bytes{{{labels}}} {swapped_bytes(one)}"
    yield from _head("numascape_structure_bytes", "The largest structures of a process on a node.")
    for labels, one in named:
        for item in structures_of(one, in_detail=False)[:_MAX_STRUCTURES]:
            about = f'{labels},structure="{_quoted(item.name)}",kind="{_quoted(item.kind)}"'
            for node, count in sorted(item.nodes.items()):
                yield f'numascape_structure_bytes{{{about},node="{node}"}} {count}'


def _head(metric: str, text: str) -> Iterator[str]:
    yield f"# HELP {metric} {text}"
    yield f"# TYPE {metric} gauge"


def _labels(snapshot: Snapshot) -> str:
    return f'pid="{snapshot.target.pid}",process="{_quoted(snapshot.target.name)}"'


def _quoted(text: str) -> str:
    return _text(text).replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
