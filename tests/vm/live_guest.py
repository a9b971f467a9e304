# SPDX-License-Identifier: Apache-2.0
"""The results of live_states.py in a guest, for the tests of running programs."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from integration.conftest import make
from integration.living import write_model
from vm.emulated_polars import polars_variables
from vm.guest import WORK, GuestNode

PROGRAMS = Path(__file__).parent / "programs"
STEPS = Path(__file__).with_name("live_states.py")
TESTS = Path(__file__).parents[1]
MIB = 1 << 20
TENSOR_PAGES = 128
TABLE, ANONYMOUS, SHARED = 256, 1024, 64
HUGE = 2 * MIB
ROOM = MIB  # as in limit_states.py
Seen = dict[str, Any]


def seen_in_guest(
    request: pytest.FixtureRequest,
    boot: Any,
    folder: Path,
    nodes: list[GuestNode],
    *steps: str,
    polars: Path | None = None,
) -> Seen:
    build = request.config.cache.mkdir("guest-programs")
    make(PROGRAMS, f"BUILD={build}", f"{build}/living", f"{build}/restless")
    write_model(folder / "model.gguf", TENSOR_PAGES)
    words = [sys.executable, str(STEPS), str(build), str(WORK / "model.gguf"), *steps]
    variables = polars_variables(polars) if polars else {"PYTHONPATH": ""}
    variables["PYTHONPATH"] = f"{TESTS}:{variables['PYTHONPATH']}"
    job = [
        "set -e",
        "mount -t cgroup2 none /sys/fs/cgroup",
        "echo +memory +cpuset >/sys/fs/cgroup/cgroup.subtree_control",
        *(f"export {name}={shlex.quote(value)}" for name, value in variables.items()),
        f"{shlex.join(words)} >result.json",
    ]
    boot(nodes, "\n".join(job), folder)
    seen: Seen = json.loads((folder / "result.json").read_text())
    return seen


def account(step: Seen) -> Seen:
    found: Seen = json.loads(step["out"])
    return found


def bytes_moved(step: Seen) -> int:
    return sum(row["bytes"] for row in account(step)["moved"])
