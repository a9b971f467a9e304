# SPDX-License-Identifier: Apache-2.0
"""Moves the memory of programs in guests with several nodes, for longer than the tests have time.

The programs are one that maps, forks and executes all the time, a language model that llama.cpp
serves, and the services of tests/vm. It checks facts: the answers, and the nodes of the pages in
the kernel. A guest shows nothing about speed.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from bench.measure import machine
from bench.model_server import LAYERS, model_server, write_random_model
from bench.tables import ResultTable, publish

TESTS: Final = Path(__file__).parents[1] / "tests"
sys.path.insert(0, str(TESTS))

from integration.conftest import make  # noqa: E402
from vm import test_services as of_services  # noqa: E402
from vm.guest import WORK, GuestNode, run_in_guest  # noqa: E402
from vm.kernel import guest_kernel  # noqa: E402

GUEST: Final = Path(__file__).with_name("live_guest.py")
LLAMA: Final = Path(__file__).parents[1] / "build/llama"
MIB: Final = 1 << 20
NODE_MIB: Final = 320
# The nodes have equal parts of each tensor, except for one page and those that two tensors share.
CLOSE: Final = 0.02
LIMIT_S: Final = 3600
_USUAL_NODES: Final = 2
Account = dict[str, Any]
Fact = tuple[str, bool]


def in_guest(nodes: int, folder: Path, *words: str) -> Account:
    """The result of live_guest.py in a guest with this number of nodes."""
    path = f"{TESTS}:{GUEST.parents[1]}"
    job = [
        f"export PYTHONPATH={shlex.quote(path)}",
        f"{shlex.join([sys.executable, str(GUEST), *words])} >result.json",
    ]
    guest = [GuestNode(1, NODE_MIB)] * nodes
    run_in_guest(guest, "\n".join(job), folder, guest_kernel(), limit_s=LIMIT_S)
    seen: Account = json.loads((folder / "result.json").read_text())
    return seen


def restless(nodes: int, rounds: int, folder: Path) -> Iterator[Fact]:
    programs = TESTS / "vm/programs"
    make(programs, f"BUILD={folder}", f"{folder}/restless")
    seen = in_guest(nodes, folder, "restless", str(folder / "restless"), str(rounds))
    done = int(seen["out"].split()[0]) if seen["out"] else 0
    moved = seen["moved"] / MIB
    yield f"restless: {done} rounds, {seen['moves']} moves, {moved:.0f} MiB moved", done >= rounds
    yield "restless: no word was lost", seen["status"] == 0
    yield "restless: each move gave its account", seen["errors"] == []


def is_spread(layers: dict[str, dict[str, int]], nodes: int) -> bool:
    """Whether each node has an equal part of each layer."""
    return len(layers) == LAYERS and all(
        len(layer) == nodes
        and max(layer.values()) - min(layer.values()) <= CLOSE * sum(layer.values())
        for layer in layers.values()
    )


def are_on(layers: dict[str, dict[str, int]], *nodes: str) -> bool:
    return len(layers) == LAYERS and all(set(layer) <= set(nodes) for layer in layers.values())


def verified(account: Account) -> bool:
    wanted: bool = account["status"] == 0 and account["verified"] == account["to_move"] > 0
    return wanted


def model(nodes: int, folder: Path) -> Iterator[Fact]:
    server = model_server(LLAMA)
    write_random_model(folder / "model.gguf")
    stale = folder / "stale"
    stale.touch()
    os.truncate(stale, NODE_MIB * MIB)
    words = (str(server), str(WORK / "model.gguf"), str(WORK / "stale"))
    seen = in_guest(nodes, folder, "model", *words)
    yield from cold_facts(seen["cold"], nodes)
    yield from stale_facts(seen["stale"], nodes, seen["cold"]["first"])


def generated_meanwhile(name: str, move: Account) -> Fact:
    begin, end, whole = move["words"]
    return f"{name}: words {begin} to {end} of {whole} came while it moved", begin < end <= whole


def is_same_text(case: Account, first: str, *moves: Account) -> bool:
    """Whether the server wrote the text `first` before, after, and during the moves."""
    meanwhile = all(move["text"].startswith(first) for move in moves)
    return first != "" and meanwhile and case["first"] == case["last"] == first


def cold_facts(cold: Account, nodes: int) -> Iterator[Fact]:
    cached = cold["cached"]
    yield "cold: all page cache of the model is on node 0", set(cold["read"]) == {"0"}
    yield "cold: the server has all layers on node 0", are_on(cold["before"], "0")
    yield generated_meanwhile("cold", cold["done"])
    yield "cold: the kernel has all pages where they should be", verified(cold["done"])
    yield "cold: each node has an equal part of each layer", is_spread(cold["after"], nodes)
    yield (
        "cold: as many pages are cached as before",
        (len(cached) == nodes and sum(cached.values()) == sum(cold["read"].values())),
    )
    yield (
        "cold: the text of the server is the same",
        is_same_text(cold, cold["first"], cold["done"]),
    )
    yield "cold: undo puts all back", verified(cold["undone"]) and are_on(cold["after undo"], "0")


def stale_facts(stale: Account, nodes: int, text: str) -> Iterator[Fact]:
    others = [str(node) for node in range(1, nodes)]
    full = stale["full"]["not_moved"]
    yield (
        "stale: part of the model is not on node 0, which is full",
        not are_on(stale["before"], "0")
        and any(set(layer) & set(others) for layer in stale["before"].values()),
    )
    yield (
        "stale: what does not fit above the watermarks stays, and is told",
        set(full) == {"the node has no free memory above its watermarks"},
    )
    yield generated_meanwhile("stale, full", stale["full"])
    yield generated_meanwhile("stale, swept", stale["done"])
    yield (
        "stale: after a sweep of all nodes the kernel has all pages where they should be",
        (stale["swept"] == 0 and verified(stale["done"])),
    )
    yield "stale: each node has an equal part of each layer", is_spread(stale["after"], nodes)
    yield (
        "stale: the text of the server is the same",
        is_same_text(stale, text, stale["full"], stale["done"]),
    )


def services(nodes: int, folder: Path) -> Iterator[Fact]:
    """The tests of tests/vm/test_services.py, on a guest with this number of nodes."""
    job = of_services.steps_in(folder, folder)
    guest = [GuestNode(1, of_services.NODE_MIB)] * nodes
    run_in_guest(guest, job, folder, guest_kernel(), limit_s=LIMIT_S)
    seen: Account = json.loads((folder / "result.json").read_text())
    for language in ("python", "java"):
        answers, moves = seen[language]["answers"], len(seen[language]["accounts"])
        yield (
            f"services: {language}: {answers} answers during {moves} moves, all of them right",
            passes(of_services.test_a_service_answers_rightly_while_it_moves, seen, language),
        )
    moves = len(seen["postgres"]["accounts"])
    yield (
        f"services: PostgreSQL: no transaction fails during {moves} moves, and the sums are right",
        passes(of_services.test_no_transaction_fails_while_shared_buffers_move, seen),
    )
    yield (
        "services: PostgreSQL: shared buffers are interleaved whole",
        passes(of_services.test_shared_buffers_are_interleaved_whole, seen),
    )
    yield (
        "services: PostgreSQL: undo puts them back",
        passes(of_services.test_shared_buffers_are_moved_back, seen),
    )


def passes(test: Callable[..., None], *arguments: object) -> bool:
    """Whether a test passes; what fails is printed."""
    try:
        test(*arguments)
    except AssertionError:
        traceback.print_exc()
        return False
    return True


def main(
    rounds: Annotated[int, typer.Option(min=100, help="Of the program that forks.")] = 1000,
    nodes: Annotated[int, typer.Option(min=2, max=8, help="Of the guest.")] = _USUAL_NODES,
    only: Annotated[str, typer.Option(help="restless, model or services; all by default.")] = "",
    write: Annotated[bool, typer.Option(help="Write to bench/results.")] = True,
) -> None:
    """Move memory, and check the results. The exit status is 1 if a check fails."""
    begin = time.monotonic()
    facts: list[Fact] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if only in {"", "restless"}:
            facts += restless(nodes, rounds, folder)
        if only in {"", "model"}:
            facts += model(nodes, folder)
        if only in {"", "services"}:
            facts += services(nodes, folder)
    minutes = (time.monotonic() - begin) / 60
    table = ResultTable(
        f"Moved live, in a guest with {nodes} nodes",
        ["fact", "true"],
        [[fact, "yes" if is_true else "NO"] for fact, is_true in facts],
        f"{minutes:.0f} minutes; the load was {os.getloadavg()[0]:.0f} at the end. The guest is "
        "emulated, so this says nothing about speed.",
    )
    publish("live" if nodes == _USUAL_NODES else f"live-{nodes}-nodes", machine(), [table], write)
    if not all(is_true for _, is_true in facts):
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
