# SPDX-License-Identifier: Apache-2.0
"""`numascape tune` refuses wrong requests before it observes, also on a machine with one node.

tests/vm/test_live.py moves a program on two nodes, measures, and moves it back.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from integration.attaching import is_free, wait_for
from integration.conftest import make
from integration.living import Living, write_model
from numascape import NumascapeError
from numascape.live.mappings import read_mappings
from numascape.live.parts import Namer
from numascape.live.policies import STAYS
from numascape.live.room import usable_nodes
from numascape.live.targets import target_of
from numascape.live.threads import read_threads
from numascape.machine import open_machine
from numascape.placement.planning import make_plan
from numascape.prediction.demand import demand_of
from numascape.prediction.layout import nodes_by_plan
from numascape.prediction.load import RunPlacement
from numascape.prediction.model import predict
from numascape.prediction.policies import placed_by_plan
from numascape.prediction.speeds import speeds_of
from numascape.tuning.addresses import living_trace
from numascape.tuning.advice import is_worth_moving
from numascape.tuning.document import outcome_document
from numascape.tuning.loop import Effects, Outcome, Request, tune
from numascape.tuning.observing import observe
from numascape.tuning.placements import known_rules, placements
from numascape.tuning.printing import outcome_lines

PROGRAMS = Path(__file__).parents[1] / "vm/programs"
Numascape = Callable[..., tuple[int, str, str]]
# The process waits; it is not a thread of the test.
SLEEPS = "import time; print('ready', flush=True); time.sleep(1000)"


@pytest.fixture
def sleeping() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", SLEEPS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "no process given: use numascape tune --pid PROCESS"),
        (("--pid", "4194305"), "there is no process 4194305"),
        (("--pid", "1", "--metric", "true"), "use it with --apply"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    numascape: Numascape, words: tuple[str, ...], message: str
) -> None:
    status, output, errors = numascape("tune", *words)
    assert (status, output) == (2, "")
    assert message in errors
    assert errors.count("\n") == 1


def test_a_process_with_one_node_is_not_observed(
    numascape: Numascape, sleeping: subprocess.Popen[str]
) -> None:
    target = target_of(sleeping.pid)
    assert target is not None
    if len(usable_nodes(target)) > 1:
        pytest.skip("this machine has several nodes")
    status, output, errors = numascape("tune", "--pid", sleeping.pid)
    assert (status, output) == (2, "")
    assert "may use the memory of one node only" in errors
    assert errors.count("\n") == 1


@pytest.fixture(scope="module")
def living(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Living]:
    build = request.config.cache.mkdir("guest-programs")
    make(PROGRAMS, f"BUILD={build}", f"{build}/living")
    model = tmp_path_factory.mktemp("model") / "model.gguf"
    write_model(model, 16)
    running = Living(build / "living", model)
    yield running
    assert running.end() == 0


def test_a_process_is_planned_by_its_own_addresses(living: Living, tmp_path: Path) -> None:
    """A plan made as if this machine had two nodes, and all memory was on the first."""
    target = target_of(living.pid)
    assert target is not None
    trace = observe(target, 2.0, "binary", tmp_path / "before.numascape", lambda _: None)
    mappings, threads = read_mappings(target), read_threads(target)
    parts = Namer(target).parts(mappings, threads)
    known = living_trace(trace, target.pid, mappings, parts)
    machine = open_machine("node:2 core:1 pu:1")
    plan = make_plan(known, machine)
    nodes = nodes_by_plan(known, plan, machine)
    planned = placed_by_plan(known, plan, machine, None, nodes)
    found = list(placements(known, mappings, known_rules(known, plan), planned))
    order = dict(known.threads.select("os_tid", "thread").iter_rows())
    workers = [order[thread.tid] for thread in threads[1:]]
    assert sorted(nodes[workers].tolist()) == [0, 1]
    # The mapping had no name in the recording, and was there before it began.
    for name in ("table", "anonymous"):
        area = living.areas[name]
        at = area.start + 4096 * np.arange(area.pages, dtype=np.uint64)
        wanted = np.full(area.pages, STAYS)
        for part, placement in found:
            inside = (at >= part.start) & (at < part.end)
            if inside.any():
                now = np.zeros(inside.sum(), np.int32)
                wanted[inside] = placement.wanted(part, at[inside], now)
        half = area.pages // 2
        assert wanted.tolist() == [nodes[workers[0]]] * half + [nodes[workers[1]]] * half, name
    # The move is worth it from either node, because it makes memory near to one of the threads.
    speeds = speeds_of(machine)
    demand = demand_of(known, speeds)
    for node in (0, 1):
        pages = planned.with_columns(pl.lit(node, planned.schema["node"]).alias("node"))
        before = predict(demand, speeds, RunPlacement(pages, nodes, label="before"))
        after = predict(
            demand, speeds, RunPlacement(planned, nodes, label="after"), reference=before
        )
        assert is_worth_moving(before, after), (before, after)


def loop(pid: int, folder: Path, stopped: threading.Event | None = None) -> tuple[Request, Outcome]:
    """Run the loop for two seconds, without a move."""
    target = target_of(pid)
    assert target is not None
    came = stopped or threading.Event()
    effects = Effects(lambda _: None, came.is_set, lambda _move, _done: None)
    request = Request(target, 2.0, "binary", folder)
    return request, tune(request, effects)


def test_with_one_node_there_is_nothing_to_move(living: Living, tmp_path: Path) -> None:
    target = target_of(living.pid)
    assert target is not None
    if len(usable_nodes(target)) > 1:
        pytest.skip("this machine has several nodes")
    request, outcome = loop(living.pid, tmp_path)
    assert outcome.changes_nothing
    assert outcome.before is not None
    assert outcome.before.accesses > 0
    lines = list(outcome_lines(outcome))
    assert lines[0].startswith("observed: 0 % of its accesses")
    assert lines[1].startswith("nothing to move")
    document = json.loads(json.dumps(outcome_document(request, outcome)))
    assert document["advice"]["to_move"] == 0
    assert (document["done"], document["ended_early"]) == (None, None)


def test_an_interruption_while_it_observes_moves_nothing(living: Living, tmp_path: Path) -> None:
    stopped = threading.Event()
    stopped.set()
    _, outcome = loop(living.pid, tmp_path, stopped)
    assert (outcome.ending, outcome.advice, outcome.done) == ("interrupted", None, None)
    assert list(outcome_lines(outcome))[-1] == "ended early: interrupted; nothing was moved"
    before = living.passes()
    while living.passes() == before:  # it goes on
        pass


def test_a_process_that_ends_while_it_is_observed_is_named(
    sleeping: subprocess.Popen[str], tmp_path: Path
) -> None:
    def kill_when_observed() -> None:
        wait_for(lambda: not is_free(sleeping.pid))
        sleeping.kill()

    killer = threading.Thread(target=kill_when_observed)
    killer.start()
    with pytest.raises(NumascapeError, match=f"process {sleeping.pid} .* has ended"):
        loop(sleeping.pid, tmp_path)
    killer.join()


def test_signals_are_noted_while_the_recorder_passes_them_on(tmp_path: Path) -> None:
    """A signal ends the recording, and the loop learns about the signal."""
    script = """
import subprocess
from numascape.signals import signals_noted, signals_passed_on
with signals_noted() as noted:
    with signals_passed_on() as receiver:
        child = subprocess.Popen(["sleep", "1000"])
        receiver.becomes(child.pid)
        print("ready", flush=True)
        print(child.wait(), noted.came, flush=True)
"""
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stdout is not None
        process.stdout.readline()
        os.kill(process.pid, signal.SIGTERM)
        assert process.communicate(timeout=300)[0] == f"{-signal.SIGTERM} True\n"
