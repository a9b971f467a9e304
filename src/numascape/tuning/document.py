# SPDX-License-Identifier: Apache-2.0
"""The outcome of the closed loop as plain data, in bytes."""

from __future__ import annotations

import dataclasses
from typing import Any

from numascape.comparison.measures import RunMeasures
from numascape.live.document import account_document
from numascape.live.moving import by_pair
from numascape.prediction.model import Prediction
from numascape.tuning.advice import Advice, share_of_threads
from numascape.tuning.loop import Done, Outcome, Request
from numascape.tuning.metric import Measured


def outcome_document(request: Request, outcome: Outcome) -> dict[str, Any]:
    """Everything that is known at the end of the loop."""
    return {
        "format": "numascape tune",
        "version": 1,
        "pid": request.target.pid,
        "name": request.target.name,
        "recorder": request.recorder,
        "seconds": request.seconds,
        "before": _run(outcome.before),
        "advice": None if outcome.advice is None else _advice(outcome.advice),
        "undo": None if outcome.undo is None else str(outcome.undo),
        "done": _done(outcome.done),
        "metric_before": _values(outcome.metric_before),
        "metric_after": _values(outcome.metric_after),
        "taken_back": _done(outcome.taken_back),
        "after": _run(outcome.after),
        "failure": outcome.failure or None,
        "ended_early": outcome.ending or None,
    }


def _run(run: RunMeasures | None) -> dict[str, Any] | None:
    if run is None:
        return None
    return {
        "accesses": run.accesses,
        "remote_share": run.remote_share,
        "known_share": run.known_share,
        "busiest_node": run.busiest_node,
        "busiest_node_share": run.busiest_node_share,
    }


def _advice(advice: Advice) -> dict[str, Any]:
    return {
        "structures": [
            {
                "name": one.name,
                "bytes": one.bytes,
                "share": one.share,
                "nodes": {str(node): held for node, held in one.before.items()},
                "rule": {
                    name: value
                    for name, value in dataclasses.asdict(one.rule).items()
                    if name in {"policy", "nodes", "weights", "parts"}
                },
            }
            for one in advice.structures
        ],
        "to_move": advice.move.pages.total,
        "in_place": advice.move.pages.in_place,
        "by_nodes": [
            {"from": before, "to": to, "bytes": total}
            for before, to, total in by_pair(advice.move.pages.sets)
        ],
        "threads": [{"tid": one.tid, "cpus": list(one.wanted)} for one in advice.move.threads],
        "predicted_now": _prediction(advice.now),
        "predicted_after": None if advice.after is None else _prediction(advice.after),
        "predicted_share_of_threads": (
            None if advice.after is None else share_of_threads(advice.now, advice.after)
        ),
    }


def _prediction(found: Prediction) -> dict[str, Any]:
    return {
        "relative": found.relative,
        "low": found.low,
        "high": found.high,
        "remote_accesses": found.remote_accesses,
        "remote_share": found.remote_share,
        "limit": found.limit,
    }


def _done(done: Done | None) -> dict[str, Any] | None:
    if done is None:
        return None
    return account_document(done.account, done.threads)


def _values(measured: Measured | None) -> list[float] | None:
    return None if measured is None else list(measured.values)
