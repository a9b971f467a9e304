# SPDX-License-Identifier: Apache-2.0
"""Made-up structures for tests of the sentences about them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from numascape.findings.finding import Place


def subject(touched: Place | None = None, used: Place | None = None, **known: Any) -> Any:
    row = {
        "kind": "heap",
        "function": "make",
        "file": "/src/a.c",
        "line": 7,
        "size": 8192,
        "instances": 1,
    }
    already, text = known.pop("already", False), known.pop("text", "")
    reuse = known.pop("reuse", 8.0)
    whole = SimpleNamespace(
        first_toucher=0,
        first_toucher_share=known.pop("serial", 1.0),
        place=known.pop("place", ("", "", 0)),
    )
    run = SimpleNamespace(
        openmp=known.pop("openmp", True),
        has_python=known.pop("has_python", False),
        nodes=known.pop("nodes", None),
        sources=SimpleNamespace(is_parallel=lambda _: already, text=lambda _: text),
    )
    return SimpleNamespace(
        touched_at=touched,
        used_at=used,
        worked_in=known.pop("worked_in", None),
        in_tasks=known.pop("in_tasks", False),
        schedule=known.pop("schedule", None),
        region_loop=known.pop("region_loop", None),
        is_used_in_call=known.pop("is_used_in_call", False),
        touched_as=known.pop("touched_as", None),
        initial_loop=known.pop("initial_loop", None),
        whole=whole,
        name=known.pop("name", "grid->vx"),
        row={**row, **known},
        run=run,
        touched_bytes=4096,
        threads=(0, 1, 2, 3),
        footprint=SimpleNamespace(reuse=reuse),
    )
