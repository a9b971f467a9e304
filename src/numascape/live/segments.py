# SPDX-License-Identifier: Apache-2.0
"""Moves whole segments of shared memory, also the pages that a process has never touched.

The kernel keeps shared memory in files, and /proc/PID/map_files has a link to each file (proc(5)).
This process maps the file for the move, with all of its pages.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from numascape.live.file_cache import cached_mapping, mapped_file
from numascape.live.mappings import read_mappings
from numascape.live.page_sets import find_pages
from numascape.live.parts import Namer
from numascape.live.plans import Move, usual_nodes
from numascape.live.policies import check_nodes, parse_policy
from numascape.live.room import usable_nodes
from numascape.live.selection import parts_named
from numascape.live.targets import TargetProcess, target_of
from numascape.live.threads import read_threads
from numascape.trace.format import PAGE_BYTES


def segments_of(target: TargetProcess, names: Sequence[str]) -> list[Path]:
    """The files of the shared memory with these names, each once.

    Empty if some of the structures are not shared memory, or if this user may not open the files.
    Also empty for explicit huge pages, because the kernel does not report which of them exist.
    Raises NumascapeError if a name fits no structure.
    """
    mappings = read_mappings(target)
    found: dict[tuple[str, int], Path] = {}
    for part in parts_named(Namer(target).parts(mappings, read_threads(target)), names):
        mapping = mappings[part.mapping]
        link = target.folder / "map_files" / f"{mapping.start:x}-{mapping.end:x}"
        is_segment = part.kind == "shared memory" and mapping.is_shared
        if not is_segment or mapping.page_bytes != PAGE_BYTES or not _can_be_opened(link):
            return []
        found.setdefault((mapping.device, mapping.inode), link)
    return list(found.values())


def _can_be_opened(link: Path) -> bool:
    """Whether the link can be opened. This needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE."""
    try:
        os.close(os.open(link, os.O_RDONLY | os.O_CLOEXEC))
    except OSError:
        return False
    return True


@contextmanager
def segments_move(owner: TargetProcess, files: Sequence[Path], text: str) -> Iterator[Move]:
    """Yield a move of these files by a policy; it can be carried out inside the block.

    This process is the target of the move. Raises NumascapeError.
    """
    usable = usable_nodes(owner)
    local = sorted({thread.node for thread in read_threads(owner)} & set(usable))
    policy = parse_policy(text, usual_nodes(owner, usable), local)
    check_nodes(policy.nodes, usable)
    own = target_of(os.getpid())
    assert own is not None
    with ExitStack() as stack:
        mappings = [stack.enter_context(cached_mapping(file)) for file in files]
        chosen = [(part, policy) for part in Namer(own).parts(mappings, [])]
        mapped = tuple(mapped_file(mapping, "") for mapping in mappings)
        yield Move(own, find_pages(own, mappings, chosen), (), owner=owner, mapped=mapped)
