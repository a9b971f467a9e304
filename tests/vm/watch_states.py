# SPDX-License-Identifier: Apache-2.0
"""In a guest: DAMON, the kernel's monitor of accesses, observes a running program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from integration.living import write_model
from vm.host_states import command
from vm.live_target import living

ADMIN = Path("/sys/kernel/mm/damon/admin/kdamonds")


def watched(program: Path) -> dict[str, Any]:
    """A program that uses its memory all the time."""
    write_model(Path("watched.gguf"), 128)
    with living(program, Path("watched.gguf")) as running:
        words = ("--pid", str(running.pid), "--recorder", "damon", "--every", "2")
        seen: dict[str, Any] = {}
        seen["areas"] = {name: [area.start, area.pages] for name, area in running.areas.items()}
        seen["result"] = command("record", *words, "--seconds", "9", "-o", "watched.numascape")
        seen["left"] = (ADMIN / "nr_kdamonds").read_text().strip()
        seen["end"] = running.end()
    return seen
