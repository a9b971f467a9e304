# SPDX-License-Identifier: Apache-2.0
"""The findings of a job in the terminal: each once, with the number of ranks that have it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from numascape.console.findings import (
    CONCLUSIONS,
    INDENT,
    causes_and_fixes,
    labelled,
    print_indented,
)
from numascape.console.tables import name
from numascape.jobs.conclusion import job_conclusion
from numascape.jobs.describe import describe_job
from numascape.jobs.findings import JobFinding, job_findings
from numascape.jobs.job import AnalysedJob
from numascape.jobs.shared import SHARED_KIND, SharedMemory
from numascape.jobs.stakes import findings_to_do, ranks_alone, ranks_with, share_at_stake
from numascape.quantities import percent
from numascape.terminal import printable

_MAX_FINDINGS = 3


def print_job_findings(console: Console, job: AnalysedJob) -> None:
    """Print the findings, those that concern most accesses first."""
    for line in describe_job(job):
        console.print(printable(line), soft_wrap=True)
    found = job_findings(job.tables)
    console.print()
    console.print(Text(printable(job_conclusion(job, found)), "bold"), soft_wrap=True)
    to_do = [one for one in found if one.to_do]
    for number, one in enumerate(findings_to_do(job, found), 1):
        console.print()
        if isinstance(one, SharedMemory):
            _print_shared(console, job, one, number)
        else:
            _print_finding(console, job, one, number)
    if not to_do:
        console.print()
        for sentence in _without_fix(job, found):
            print_indented(console, Text(printable(sentence)), 0)
    console.print()
    if job.ranks["host"].n_unique() == 1 and not job.left_out:
        gains = f"Predicted gains on a machine: numascape advise {job.path} --machine NAME"
    else:
        worst = to_do[0].worst if to_do else int(job.ranks.item(0, "rank"))
        part = job.path / f"rank={worst}"
        gains = (
            "Predicted gains need one rank, which is then alone on the machine: "
            f"numascape advise {part} --machine NAME"
        )
    print_indented(console, Text(printable(gains), "dim"), 0)


def job_conclusions(job: AnalysedJob) -> list[str]:
    """The findings of the job in a few lines, or why there is none."""
    found = job_findings(job.tables)
    to_do = findings_to_do(job, found)
    if not to_do:
        conclusions = [one for one in found if one.kind in CONCLUSIONS]
        return _without_fix(job, conclusions or found[:1])
    lines = [job_conclusion(job, found)]
    for one in to_do[1:_MAX_FINDINGS]:
        kind, about = _kind_and_subject(job, one)
        lines.append(f"  {kind} ({about}): {percent(share_at_stake(job, one))}")
    if more := len(to_do) - len(lines):
        lines.append(f"  and {more} more")
    return [*lines, causes_and_fixes(str(job.path))]


def _kind_and_subject(job: AnalysedJob, one: SharedMemory | JobFinding) -> tuple[str, str]:
    if isinstance(one, SharedMemory):
        return SHARED_KIND, f"{one.name}, shared by {len(one.ranks)} ranks of {one.host}"
    where = ranks_with(job, one)
    return one.kind.value, f"{one.name or 'the whole run'}, {where[:1].lower()}{where[1:]}"


def _without_fix(job: AnalysedJob, found: Sequence[JobFinding]) -> list[str]:
    """A sentence for each finding that needs no fix, with the ranks that have it."""
    return [f"{ranks_alone(job, one)}: {one.why}" for one in found]


def _heading(console: Console, number: int, kind: str, what: str) -> None:
    heading = Text.assemble(
        (f"{number}  ", "bold"), (kind, "bold yellow"), "  ", (name(what), "bold cyan")
    )
    console.print(heading, soft_wrap=not console.is_terminal)


def _print_shared(console: Console, job: AnalysedJob, one: SharedMemory, number: int) -> None:
    _heading(console, number, SHARED_KIND, one.name)
    share = share_at_stake(job, one)
    text = f" of accesses could become local. {len(one.ranks)} ranks of {one.host} share it."
    print_indented(console, Text.assemble((percent(share), "bold"), printable(text)), INDENT)
    print_indented(console, labelled("Cause", one.why), INDENT)
    for sentence in one.advice:
        print_indented(console, labelled("Fix", sentence), INDENT)


def _print_finding(console: Console, job: AnalysedJob, one: JobFinding, number: int) -> None:
    _heading(console, number, one.kind.value, one.name or "the whole run")
    text = (
        f" of accesses could become local. {ranks_with(job, one)}; worst is rank {one.worst} "
        f"({percent(one.worst_share)} of its accesses)."
    )
    print_indented(console, Text.assemble((percent(one.share), "bold"), text), INDENT)
    print_indented(console, labelled(f"Cause in rank {one.worst}", one.why), INDENT)
    for sentence in one.advice:
        print_indented(console, labelled("Fix", sentence), INDENT)
