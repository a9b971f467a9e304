# SPDX-License-Identifier: Apache-2.0
"""Services in Python and Java, and PostgreSQL, answer correctly while their memory moves.

One boot with two nodes; service_states.py has the steps. bench/live runs them with more nodes, too.
"""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from behaviour.servers import SERVERS
from integration.conftest import make
from vm.conftest import Boot
from vm.guest import WORK, GuestNode
from vm.service_states import BLOCK, BLOCKS, CLIENTS, ENOUGH, TRANSACTIONS

PROGRAMS = Path(__file__).parent / "programs"
STEPS = Path(__file__).with_name("service_states.py")
TESTS = Path(__file__).parents[1]
Seen = dict[str, Any]


NODE_MIB = 448


def steps_in(folder: Path, build: Path) -> str:
    """The guest's job, with the programs in `build`; its result is result.json in this folder."""
    make(PROGRAMS, f"BUILD={build}", f"{build}/Service.class")
    SERVERS["postgres"].prepare(folder)
    words = shlex.join([sys.executable, str(STEPS), str(build), str(WORK / "data")])
    return f"set -e\nexport PYTHONPATH={shlex.quote(str(TESTS))}\n{words} >result.json"


@pytest.fixture(scope="module")
def services(
    request: pytest.FixtureRequest, boot: Boot, tmp_path_factory: pytest.TempPathFactory
) -> Seen:
    for program in ("javac", *SERVERS["postgres"].programs):
        if shutil.which(program) is None:
            pytest.skip(f"no guest: {program} is not installed")
    folder = tmp_path_factory.mktemp("services")
    job = steps_in(folder, request.config.cache.mkdir("guest-programs"))
    boot([GuestNode(1, NODE_MIB)] * 2, job, folder)
    seen: Seen = json.loads((folder / "result.json").read_text())
    return seen


def bytes_moved(account: Seen) -> int:
    return sum(row["bytes"] for row in account["moved"])


@pytest.mark.parametrize("language", ["python", "java"])
def test_a_service_answers_rightly_while_it_moves(services: Seen, language: str) -> None:
    seen = services[language]
    assert seen["wrong"] == []
    assert seen["answers"] >= ENOUGH
    _, *others = seen["accounts"]  # the first one gathers all of its data on a node
    assert others
    for account in others:
        assert account["ended_early"] is None
        # All of its data. A runtime may give other memory back before that is verified.
        assert min(bytes_moved(account), account["verified"]) >= BLOCKS * BLOCK


def test_no_transaction_fails_while_shared_buffers_move(services: Seen) -> None:
    seen = services["postgres"]
    count = CLIENTS * TRANSACTIONS
    assert seen["status"] == 0
    assert f"actually processed: {count}/{count}" in seen["printed"]
    assert "failed transactions: 0 " in seen["printed"]
    *sums, rows = seen["sums"]
    assert len(set(sums)) == 1
    assert int(rows) == count
    assert any(bytes_moved(account) > 0 for account in seen["accounts"])


def test_shared_buffers_are_interleaved_whole(services: Seen) -> None:
    """This includes pages that the server's first process, which is named, never touched."""
    last, checked = services["postgres"]["interleaved"], services["postgres"]["checked"]
    assert last["not_moved"] == {}
    assert last["verified"] == last["to_move"]
    assert min(last["to_move"], last["in_place"]) > 0
    # Meanwhile, the server may touch new pages.
    before, now = (run["to_move"] + run["in_place"] for run in (last, checked))
    assert checked["to_move"] <= now - before
    assert checked["in_place"] >= before
    mapped = services["postgres"]["mapped"]
    assert checked["in_place"] > mapped["to_move"] + mapped["in_place"] > 0


def test_shared_buffers_are_moved_back(services: Seen) -> None:
    last, undone = (services["postgres"][step] for step in ("interleaved", "undone"))
    assert undone["status"] == 0, undone["err"]
    back = json.loads(undone["out"])
    assert back["verified"] == back["to_move"] == last["to_move"]
