# SPDX-License-Identifier: Apache-2.0
"""Damaged plans give a plan or one clear line; damaged compiled plans are not applied."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

from numascape.errors import NumascapeError
from numascape.installation import installed_file
from numascape.placement.compiling import compile_plan, usable_resources
from numascape.placement.verifying import read_reports
from numascape.plan import Plan, StructureRule, ThreadRule
from numascape.plan.document import decode_plan, encode_plan

ROUNDS = 1500
COMPILED_ROUNDS = 60
CPU = min(os.sched_getaffinity(0))
PLAN = Plan(
    threads=(ThreadRule((CPU,), order="0-3"), ThreadRule((CPU,), name="x*", together=True)),
    structures=(
        StructureRule("a", "parts", "heap", "main", "/a.c", 3, (0, 0), parts=(0, 0.25, 1)),
        StructureRule("b", "weighted-interleave", nodes=(0,), weights=(7,)),
        StructureRule("Stack#1", "bind", kind="stack", nodes=(0,)),
    ),
    environment={"OMP_NUM_THREADS": "4"},
    recorded_threads=4,
)
PIECES = (
    *(b"=", b"[", b"]]", b'"', b"'", b"{", b"-1", b"1e999", b"nan", b"\n", b"\xff"),
    *(b"[[threads]]\n", b"nodes = [1]\n", b"99999999999999999999", b"1979-05-27T07:32:00Z"),
)


def damaged(content: bytes, chance: random.Random) -> bytes:
    out = bytearray(content)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(out))
        kind = chance.randrange(3)
        if kind == 0:
            out[at : at + chance.randrange(20)] = b""
        elif kind == 1:
            out[at] = chance.randrange(256)
        else:
            out[at:at] = chance.choice(PIECES)
    return bytes(out)


def read(content: bytes) -> Plan | str:
    """The plan in the content, or the error."""
    try:
        return decode_plan(content, "plan.toml")
    except NumascapeError as error:
        return str(error)


def test_damaged_documents() -> None:
    chance = random.Random(3)
    content = encode_plan(PLAN)
    results = [read(damaged(content, chance)) for _ in range(ROUNDS)]
    refusals = [result for result in results if isinstance(result, str)]
    plans = [result for result in results if isinstance(result, Plan)]
    assert len(refusals) > 500
    assert len(plans) > 50
    assert all("\n" not in refusal and len(refusal) < 400 for refusal in refusals)
    assert all(decode_plan(encode_plan(plan), "again") == plan for plan in plans)


def test_programs_run_whatever_a_compiled_plan_holds(tmp_path: Path) -> None:
    chance = random.Random(4)
    content = compile_plan(PLAN, usable_resources(), 4, tmp_path / "none", tmp_path, True).content
    path = tmp_path / "plan"
    environment = {
        **os.environ,
        "LD_PRELOAD": str(installed_file("_placer/libnumascape_placer.so")),
        "NUMASCAPE_PLAN": str(path),
    }
    for round_number in range(COMPILED_ROUNDS):
        out = bytearray(content)
        for _ in range(chance.randint(0, 3) if round_number else 0):
            at = chance.randrange(len(out))
            if chance.randrange(4) == 0:
                del out[at:]
            else:
                size = min(4, len(out) - at)
                out[at : at + size] = chance.choice([b"\xff", b"\0", b"\x7f"]) * size
            if not out:
                break
        path.write_bytes(bytes(out))
        path.chmod(0o600)
        finished = subprocess.run(
            ["sh", "-c", "echo lives"], capture_output=True, env=environment, check=False
        )
        assert (finished.returncode, finished.stdout) == (0, b"lives\n"), round_number
        read_reports(tmp_path, PLAN, [(CPU,)])


@pytest.mark.parametrize("mode", [0o666, 0o620])
def test_a_compiled_plan_that_others_may_write_is_not_carried_out(
    tmp_path: Path, mode: int
) -> None:
    path = tmp_path / "plan"
    usable = usable_resources()
    path.write_bytes(compile_plan(PLAN, usable, 4, tmp_path / "s", tmp_path, True).content)
    library = str(installed_file("_placer/libnumascape_placer.so"))
    environment = {**os.environ, "LD_PRELOAD": library, "NUMASCAPE_PLAN": str(path)}
    for wanted, processes in ((0o600, 1), (mode, 1)):
        path.chmod(wanted)
        subprocess.run(["true"], env=environment, check=True)
        assert len(list(tmp_path.glob("process-*"))) == processes
