# SPDX-License-Identifier: Apache-2.0
"""Stages of a program that creates threads for each of them: teams that live one after another."""

from __future__ import annotations

import polars as pl

from numascape.findings.page_use import page_use
from numascape.findings.pattern import Pattern, pattern_of
from numascape.findings.subject import Subject
from numascape.findings.thresholds import MIN_PHASE_WORK
from numascape.trace.phase import loose_phases
from numascape.trace.teams import teams_of


def has_sharing_stage(subject: Subject) -> bool:
    """Whether all threads of a stage use all pages alike: no division of the work fits this stage.

    For example, tasks put points in order, and then other threads look points up. Stages with less
    than a tenth of the work do not count, and a program with one stage has no such stage.
    """
    trace = subject.run.trace
    created = trace.threads.filter(
        pl.col("thread").is_in(subject.threads),
        pl.col("thread") != pl.col("thread").min().over("process"),
    )
    teams = teams_of(created)
    if len(teams) < 2:
        return False
    rows = subject.rows.filter(pl.col("phase").is_in(loose_phases(trace)))
    least = MIN_PHASE_WORK * subject.working
    for team in teams:
        part = rows.filter(pl.col("thread").is_in(team))
        made = int(part["reads"].sum()) + int(part["writes"].sum())
        if len(team) > 1 and made >= least and pattern_of(page_use(part)) is Pattern.SHARED:
            return True
    return False
