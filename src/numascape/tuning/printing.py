# SPDX-License-Identifier: Apache-2.0
"""Prints what the closed loop saw, advises, and did."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from numascape.comparison.measures import RunMeasures
from numascape.console.moves import account_lines, planned_lines
from numascape.plan.plan import StructureRule
from numascape.prediction.model import Prediction
from numascape.quantities import bytes_text, percent
from numascape.tuning.advice import Advice, saves_time, share_of_threads
from numascape.tuning.loop import Outcome
from numascape.tuning.metric import Measured
from numascape.tuning.placements import StructureAdvice

_MAX_LISTED: Final = 20


def outcome_lines(outcome: Outcome) -> Iterator[str]:
    """All that is known at the end of the loop."""
    if outcome.before is not None:
        yield f"observed: {_seen(outcome.before)}"
    if outcome.advice is not None:
        yield from _advice_lines(outcome.advice, applied=outcome.done is not None)
    if outcome.done is not None and outcome.advice is not None:
        yield from account_lines(outcome.advice.move, outcome.done.account, outcome.done.threads)
    if outcome.metric_before is not None:
        yield f"measure before the move: {_values(outcome.metric_before)}"
    if outcome.metric_after is not None:
        yield f"measure after the move: {_values(outcome.metric_after)}"
    if outcome.taken_back is not None:
        yield from _taken_back_lines(outcome)
    if outcome.after is not None:
        yield f"observed after the move: {_seen(outcome.after)}"
    if outcome.failure and outcome.taken_back is None:
        yield f"not observed again: {outcome.failure}"
    if outcome.ending:
        yield f"ended early: {outcome.ending}; {_state(outcome)}"


def _seen(run: RunMeasures) -> str:
    if run.remote_share is None:
        return "the nodes of its threads and pages are not known"
    known = "" if run.known_share > 0.995 else f" ({percent(run.known_share)} of them are known)"
    return f"{percent(run.remote_share)} of its accesses were to memory of other nodes{known}"


def _advice_lines(advice: Advice, applied: bool) -> Iterator[str]:
    if advice.after is None:
        yield (
            "nothing to move: no other placement of its pages and threads is predicted to save "
            "2 % of its time or more"
        )
        return
    for one in advice.structures[:_MAX_LISTED]:
        yield f"  {_structure(one)}"
    if len(advice.structures) > _MAX_LISTED:
        yield f"  and {len(advice.structures) - _MAX_LISTED} more"
    if not applied:
        yield from planned_lines(advice.move)
    yield _prediction(advice.now, advice.after)


def _structure(one: StructureAdvice) -> str:
    nodes = ", ".join(f"{bytes_text(held)} on node {node}" for node, held in one.before.items())
    return f"{one.name} ({percent(one.share)} of accesses): {nodes}; {_rule(one.rule)}"


def _rule(rule: StructureRule) -> str:
    """A text for where the pages go."""
    nodes = ", ".join(map(str, rule.nodes))
    if rule.policy == "parts":
        return f"in {len(rule.nodes)} parts to nodes {nodes}"
    if rule.policy in {"interleave", "weighted-interleave"}:
        return f"interleave on nodes {nodes}"
    if rule.policy in {"bind", "preferred"}:
        return f"to node {nodes}"
    return "each page to the node of the thread that uses it most"


def _prediction(now: Prediction, after: Prediction) -> str:
    remote = (
        f"{percent(now.remote_accesses)} remote accesses become {percent(after.remote_accesses)}"
    )
    if saves_time(after):
        return (
            f"predicted: {after.relative:.2f} of the time ({after.low:.2f} to {after.high:.2f}), "
            f"{remote}"
        )
    return (
        f"predicted: {share_of_threads(now, after):.2f} of the time of all threads together, if "
        f"they do not wait for each other, {remote}"
    )


def _values(measured: Measured) -> str:
    runs = ", ".join(f"{value:g}" for value in measured.values)
    return f"{measured.median:g}" if len(measured.values) == 1 else f"{measured.median:g} ({runs})"


def _taken_back_lines(outcome: Outcome) -> Iterator[str]:
    assert outcome.taken_back is not None
    account = outcome.taken_back.account
    why = outcome.failure or "the measure got worse"
    yield f"taken back, because {why}: {bytes_text(account.moved_bytes)} moved back"
    if account.ending or account.failed:
        left = sum(account.failed.values())
        yield f"  not moved back: {bytes_text(left)} {account.ending}".rstrip()


def _state(outcome: Outcome) -> str:
    """The present state of the process in words."""
    if outcome.done is None:
        return "nothing was moved"
    if outcome.taken_back is not None:
        return f"the rest can be put back with: numascape move --undo {outcome.undo}"
    if outcome.ending == "interrupted":
        return f"what was moved stays; put it back with: numascape move --undo {outcome.undo}"
    return "there is nothing to compare with"
