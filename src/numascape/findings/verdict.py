# SPDX-License-Identifier: Apache-2.0
"""The conclusion about a run: whether NUMA is a problem, and how much each fix saves.

The terminal, the page and the verb `predict` take their conclusion from here.
"""

from __future__ import annotations

from collections.abc import Sequence

from numascape.findings.finding import SAMPLES_BOUND, Finding, Kind, Remedy
from numascape.findings.gain import best_policy, remedied_run
from numascape.findings.groups import group_findings
from numascape.findings.remedies import RemediedRun
from numascape.findings.subject import Run
from numascape.findings.thresholds import MIN_RELEVANT_GAIN
from numascape.machine.description import Machine
from numascape.prediction.load import Tuning
from numascape.prediction.model import Prediction
from numascape.quantities import percent
from numascape.trace.counting import only_touches

_HANDED = (
    "Threads hand data to each other. The nodes of these threads matter; the nodes of the pages do "
    "not."
)


def verdict(run: Run, found: Sequence[Finding]) -> str:
    """The conclusion from the findings of a run; empty if there is nothing to conclude."""
    groups = group_findings(run, found)
    to_do = [group for group in groups if group.first.to_do]
    if not to_do:
        handed = _HANDED if any(g.kind is Kind.PRODUCER_CONSUMER for g in groups) else ""
        return next((g.first.why for g in groups if g.first.structure is None), handed)
    if only_touches(run.trace):
        return ""
    if run.nodes is None:
        return _all_local(run.machine)
    gains = [group.gain for group in to_do if group.gain is not None]
    if not gains:
        return ""
    best = max(gains, key=lambda gain: gain.share)
    if best.share >= MIN_RELEVANT_GAIN:
        why = f": {SAMPLES_BOUND}" if best.at_most else ""
        return f"The first fix is predicted to save {best.saved} of the run time{why}."
    none = (
        f"No fix is predicted to save {percent(MIN_RELEVANT_GAIN)} or more of the run time on "
        f"{best.machine} at this size."
    )
    policy = best_policy(run)
    if policy is not None and 1 - policy.relative >= MIN_RELEVANT_GAIN:
        return f"{none} But the policy {policy.label} saves {percent(1 - policy.relative)}."
    return f"{none} The findings may matter for larger inputs."


def _all_local(machine: Machine) -> str:
    """Why placement saves nothing on a machine where all accesses are local."""
    if len(machine.nodes) == 1:
        why = f"All accesses are local on {machine.name}, which has one node."
    else:
        why = (
            f"All accesses are local on {machine.name}: all its CPUs are on one node, and first "
            "touch puts all pages on this node."
        )
    return f"{why} Placement of memory matters only on a machine with CPUs on several nodes."


def fixes_of(
    run: Run, found: Sequence[Finding], tuning: Tuning | None = None, *, with_pages: bool = False
) -> list[Prediction]:
    """The predictions of the advised fixes, numbered like the findings; empty without nodes."""
    if run.nodes is None:
        return []
    if with_pages or tuning not in (None, Tuning()):
        remedied = RemediedRun(run, run.nodes, tuning, with_pages=with_pages)
    else:
        remedied = remedied_run(run)
    to_do = [group for group in group_findings(run, found) if group.first.to_do]
    return [
        remedied.predict(group.findings, group.first.remedy, f"fix {number}: {group.kind.value}")
        for number, group in enumerate(to_do, 1)
        if group.first.remedy is not Remedy.NONE
    ]
