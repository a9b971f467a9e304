# SPDX-License-Identifier: Apache-2.0
"""In a guest: moves of a program that maps, unmaps, forks and executes all the time."""

from __future__ import annotations

import json
import subprocess
import threading
from pathlib import Path
from typing import Any

from vm.host_states import command, count_nodes


def restless(program: Path, rounds: int) -> dict[str, Any]:
    """Move all its memory from node to node until its rounds are done.

    At least to all nodes, with the pages that other processes also map and without them.
    """
    nodes = count_nodes()
    running = subprocess.Popen([program], stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    output = running.stdout
    output.readline()
    lines: list[str] = []
    reader = threading.Thread(target=lambda: lines.extend(iter(output.readline, "")))
    reader.start()
    moved = number = 0
    errors: list[str] = []
    while running.poll() is None and (number < 2 * nodes or len(lines) < rounds // 100):
        Path("restless.undo").unlink(missing_ok=True)
        words = ["--policy", f"bind:{(number + 1) % nodes}", "-o", "restless.undo"]
        words += ["--shared"] if number % (2 * nodes) < nodes else []
        result = command("move", "--json", "--pid", str(running.pid), *words)
        if result["status"] in {0, 1}:
            moved += sum(row["bytes"] for row in json.loads(result["out"])["moved"])
        else:
            errors.append(result["err"])
        number += 1
    running.terminate()
    reader.join()
    return {"status": running.wait(), "out": lines[-1] if lines else "", "moves": number,
            "moved": moved, "errors": errors}  # fmt: skip
