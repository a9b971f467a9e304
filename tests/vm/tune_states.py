# SPDX-License-Identifier: Apache-2.0
"""In a guest: `numascape tune` on a running program."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from integration.living import write_model
from numascape.live.plans import Move, Scope, move_by_policy
from numascape.live.targets import TargetProcess, target_of
from numascape.prediction.model import Prediction
from numascape.tuning.advice import Advice
from numascape.tuning.loop import Effects, Outcome, Request, apply
from numascape.tuning.metric import Metric
from numascape.tuning.metric import measure_metric as measure_metric
from numascape.tuning.printing import outcome_lines
from vm.balancing import often_balanced
from vm.host_states import command
from vm.live_target import cpus, living

# Measures that fall or rise with each run, and one that fails after three.
FALLS = "echo x >>falls; expr 10 - $(wc -l <falls)"
RISES = "echo x >>rises; wc -l <rises"
BREAKS = "echo x >>breaks; wc -l <breaks; test $(wc -l <breaks) -le 3"
SECONDS = ("2", "8", "32", "128")
NOTHING = Prediction("", 1.0, 1.0, 1.0, 1.0, "", "nothing", 0.0, 0.0, np.zeros((2, 2)), (0, 1), (),
                     ())  # fmt: skip


def tuned_whole(program: Path) -> dict[str, Any]:
    """The verb itself: it observes, plans, measures, moves, measures and observes again.

    The threads are on node 1, all pages on node 0, and the file is small, so that most accesses are
    to pages that can move. So there certainly is memory to move.
    """
    write_model(Path("small.gguf"), 1)
    # It works nearly all the time, so that a few seconds have enough samples.
    with living(program, Path("small.gguf"), breath_us=2000) as running:
        tids = sorted(int(path.name) for path in Path(f"/proc/{running.pid}/task").iterdir())
        for tid in tids[1:]:
            os.sched_setaffinity(tid, {1})
        first = running.where()
        seen: dict[str, Any] = {"result": tuned_by_samples(running.pid), "first": first}
        seen["where"] = running.where()
        seen["undo"] = command("move", "--json", "--undo", "whole.undo")
        seen["where undone"], seen["CPUs undone"] = running.where(), cpus(running)
        seen["recordings"] = sorted(path.name for path in Path("kept").iterdir())
        # The balancing itself moves pages, so nothing is moved here: it is only observed.
        with often_balanced():
            only = ("--recorder", "faults", "--seconds", "3")
            seen["faults"] = command("tune", "--json", "--pid", str(running.pid), *only)
        seen["end"] = running.end()
    return seen


def tuned_by_samples(pid: int) -> dict[str, Any]:
    """The report of `tune --apply`, which observes longer if the busy machine gave few samples."""
    undo = Path("whole.undo")
    for seconds in SECONDS:
        Path("whole").unlink(missing_ok=True)
        words = ("--seconds", seconds, "--apply", "--metric", "echo x >>whole; wc -l <whole")
        files = ("--runs", "1", "--keep", "kept", "-o", str(undo))
        result = command("tune", "--json", "--pid", str(pid), *words, *files)
        if "observe longer" not in result["out"] + result["err"]:
            break
        if undo.exists():
            command("move", "--quiet", "--undo", str(undo))
            undo.unlink()
    return result


def tuned(program: Path, model: Path) -> dict[str, Any]:
    """The part of `tune` that changes the program: move, measure, and move back if it got worse.

    The pages to move are given, so each of them is known.
    """
    seen: dict[str, Any] = {}
    with living(program, model) as running:
        target = target_of(running.pid)
        assert target is not None
        for name, measure in (("worse", FALLS), ("failed", BREAKS), ("kept", RISES)):
            seen[f"before {name}"] = running.where()
            move = move_by_policy(target, "spread", Scope(("table",), threads=True))
            outcome = applied(target, move, Metric(measure, 3), f"{name}.undo")
            done, back = outcome.done, outcome.taken_back
            assert done is not None
            seen[name] = {
                "moved": done.account.moved_bytes,
                "verified": done.account.verified,
                "taken back": None if back is None else back.account.verified,
                "failure": outcome.failure,
                "measured": [one and one.median for one in (outcome.metric_before,
                                                            outcome.metric_after)],
                "lines": list(outcome_lines(outcome)),
                "where": running.where(),
                "CPUs": cpus(running),
            }  # fmt: skip
        seen["end"] = running.end()
    return seen


def applied(target: TargetProcess, move: Move, metric: Metric, undo: str) -> Outcome:
    """The outcome of the move just before the process would be observed again."""
    request = Request(target, 1.0, "binary", Path(), True, metric, undo=Path(undo))
    effects = Effects(lambda _line: None, lambda: False, lambda _of, _done: None)
    before = measure_metric(metric, effects.is_stopped)
    outcome = Outcome(advice=Advice(move, (), NOTHING, NOTHING), metric_before=before)
    for outcome in apply(request, effects, outcome):  # noqa: B020
        if outcome.metric_after is not None or outcome.taken_back is not None:
            return outcome
    raise AssertionError
