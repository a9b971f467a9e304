# SPDX-License-Identifier: Apache-2.0
"""The closed loop: observe, advise, move, observe again; move back if the metric got worse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from numascape.comparison.measures import NodeAccesses, RunMeasures, measure_run
from numascape.errors import NumascapeError
from numascape.live.affinity import ThreadResults
from numascape.live.execution import apply_move, save_undo
from numascape.live.moving import Account
from numascape.live.plans import Move, move_back
from numascape.live.targets import TargetProcess
from numascape.live.undo import read_undo
from numascape.trace import Trace
from numascape.tuning.advice import Advice, advise
from numascape.tuning.metric import Measured, Metric, is_worse, measure_metric
from numascape.tuning.observing import ObserverName, observe

Ending = Literal["", "interrupted", "the process has ended"]


@dataclass(frozen=True)
class Request:
    """A request: `rate` is in bytes per second; `undo` is the undo file (None: NAME-PID.undo).

    `folder` gets the recordings before.numascape and after.numascape.
    """

    target: TargetProcess
    seconds: float
    recorder: ObserverName
    folder: Path
    applies: bool = False
    metric: Metric | None = None
    rate: float | None = None
    shared: bool = False
    undo: Path | None = None


@dataclass(frozen=True)
class Effects:
    """Functions with which the loop talks to its user and learns that it should stop."""

    say: Callable[[str], None]
    is_stopped: Callable[[], bool]
    shows: Callable[[Move, int], None]


@dataclass(frozen=True)
class Done:
    """A move that was carried out."""

    account: Account
    threads: ThreadResults | None


@dataclass(frozen=True)
class Outcome:
    """The result of the loop. `ending` says why it ended early; what was not reached is None.

    `failure`: why the process could not be observed again, or measured, after the move.
    """

    before: RunMeasures | None = None
    advice: Advice | None = None
    undo: Path | None = None
    done: Done | None = None
    after: RunMeasures | None = None
    metric_before: Measured | None = None
    metric_after: Measured | None = None
    failure: str = ""
    taken_back: Done | None = None
    ending: Ending = ""

    @property
    def changes_nothing(self) -> bool:
        """Whether there is nothing to move."""
        return self.advice is not None and self.advice.after is None


def tune(request: Request, effects: Effects) -> Outcome:
    """Go through the loop, as far as `request` wants and until something ends it.

    Raises NumascapeError if the process cannot be observed or moved; nothing has been moved then.
    """
    outcome = Outcome()
    try:
        for step in _steps(request, effects):
            outcome = step
            if effects.is_stopped():
                return replace(outcome, ending="interrupted")
    except NumascapeError as error:
        if effects.is_stopped():
            return replace(outcome, ending="interrupted")
        # Before the move, this is an error. After it, the result must still describe the move.
        if outcome.done is None:
            raise
        if not request.target.is_alive:
            return replace(outcome, ending="the process has ended")
        return replace(outcome, failure=str(error))
    return outcome


def _steps(request: Request, effects: Effects) -> Iterator[Outcome]:
    trace = _observed(request, effects, "before.numascape")
    outcome = Outcome(before=_measured(trace))
    yield outcome
    outcome = replace(outcome, advice=advise(trace, request.target))
    yield outcome
    if not request.applies or outcome.changes_nothing:
        return
    if request.metric is not None:
        effects.say("Measuring before the move")
        outcome = replace(outcome, metric_before=measure_metric(request.metric, effects.is_stopped))
        yield outcome
    yield from apply(request, effects, outcome)


def apply(request: Request, effects: Effects, outcome: Outcome) -> Iterator[Outcome]:
    """Carry out the advice of `outcome`, and yield the outcome after each step.

    With a metric, `outcome` has what was measured before.
    """
    assert outcome.advice is not None
    move = replace(outcome.advice.move, shared=request.shared)
    path = save_undo(move, request.undo)
    effects.say(f"wrote {path}; `numascape move --undo` moves everything back with it")
    done = _apply(request, effects, move)
    outcome = replace(outcome, undo=path, done=done)
    if done.account.ending == "the process has ended":
        yield replace(outcome, ending="the process has ended")
        return
    yield outcome
    if request.metric is not None:
        outcome = _judged(request, effects, outcome)
        yield outcome
        if outcome.taken_back is not None:
            return
    trace = _observed(request, effects, "after.numascape")
    yield replace(outcome, after=_measured(trace))


def _judged(request: Request, effects: Effects, outcome: Outcome) -> Outcome:
    """Measure again; take the move back if the measure is worse or fails."""
    metric, before = request.metric, outcome.metric_before
    assert metric is not None
    assert before is not None
    effects.say("Measuring after the move")
    try:
        after = measure_metric(metric, effects.is_stopped)
    except NumascapeError as error:
        if not request.target.is_alive:
            raise
        outcome = replace(outcome, failure=str(error))
        return replace(outcome, taken_back=_taken_back(request, effects, outcome))
    outcome = replace(outcome, metric_after=after)
    if after is None or not is_worse(metric, before, after):
        return outcome
    return replace(outcome, taken_back=_taken_back(request, effects, outcome))


def _taken_back(request: Request, effects: Effects, outcome: Outcome) -> Done:
    assert outcome.undo is not None
    effects.say("Taking the move back")
    return _apply(request, effects, move_back(read_undo(outcome.undo)))


def _apply(request: Request, effects: Effects, move: Move) -> Done:
    def shows(size: int) -> None:
        effects.shows(move, size)

    return Done(*apply_move(move, request.rate, effects.is_stopped, shows))


def _observed(request: Request, effects: Effects, name: str) -> Trace:
    return observe(
        request.target, request.seconds, request.recorder, request.folder / name, effects.say
    )


def _measured(trace: Trace) -> RunMeasures:
    return measure_run(trace, NodeAccesses.of(trace))
