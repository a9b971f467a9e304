# SPDX-License-Identifier: Apache-2.0
"""Too little is known to tell how threads use a structure, or whether the run has a problem.

The accesses were sampled, or only those of bursts were counted.
"""

from __future__ import annotations

from collections.abc import Sequence

from numascape.findings.finding import Evidence, Figure, Finding, Fix, Kind
from numascape.findings.parts_in_pages import knows_lines
from numascape.findings.pattern import Pattern
from numascape.findings.subject import Run, Subject
from numascape.findings.thresholds import MIN_GAIN, MIN_LINE_PAIRS
from numascape.quantities import counted
from numascape.trace.counting import (
    FEWEST_SAMPLES,
    run_error,
    samples_are_faults,
    sampling_error,
)

_NAMED = 3
_LONGER = Fix(
    "Record a longer run, for example with more repetitions. A larger input needs more samples."
)
_OFTEN = 10_000
_MORE_OFTEN = Fix(f"Take more samples in each second, for example with `--frequency {_OFTEN}`.")
_OTHERWISE = Fix("Or record without `--recorder`: this counts every access.")
_LONGER_OF_BURSTS = Fix("Record a longer run, for example with more repetitions.")
_LARGER_SHARE = Fix("Count a larger share of the work, for example with `--sample 0.1`.")
_HIGHER_COST = Fix("Allow a higher cost, for example with `--cost 1.5`.")
_EVERYTHING = Fix("Or record without `--sample`: this counts every access.")


def diagnose(subject: Subject) -> Finding | None:
    """Return the finding if samples do not show how threads share the structure's pages."""
    if subject.pattern is not Pattern.UNKNOWN:
        return None
    pages = counted(subject.whole.touched_pages, "page")
    return _of_structure(
        subject,
        f"From {_seen(subject.run, subject.whole.accesses)}, it cannot be told whether threads "
        f"share its {pages}, or have pages of their own.",
    )


def of_lines(subject: Subject) -> Finding | None:
    """Return the finding if samples do not show whether threads that share pages share data, too.

    If samples have no cache lines at all, more samples would not show it.
    """
    if not subject.run.sampled or subject.run.trace.seen_lines.is_empty():
        return None
    if knows_lines(subject) and subject.seen.layout_overlap.by_chance >= MIN_LINE_PAIRS:
        return None
    return _of_structure(
        subject,
        f"Each of its pages has several users, of {counted(len(subject.threads), 'thread')}. But "
        f"from {_seen(subject.run, subject.whole.accesses)}, it cannot be told whether they use "
        "the same data, or each thread has its own parts, shorter than a page. In both cases, "
        "interleaved pages are not all on one node.",
    )


def _of_structure(subject: Subject, why: str) -> Finding:
    return Finding(
        kind=Kind.TOO_FEW_SAMPLES,
        structure=subject.structure,
        name=subject.name,
        threads=subject.threads,
        why=why,
        fixes=_fixes(subject.run),
        evidence=(),
        figure=Figure.ACCESS_DISTRIBUTION,
        confidence=1.0,
        place=subject.used_at,
        nearer=subject.foreign,
    )


def of_run(run: Run, others: Sequence[Finding] = ()) -> Finding | None:
    """Return the finding if the run has almost no samples, or unknown uses that may be a problem.

    `others` are the findings about its structures. A structure is no problem if the threads that
    touched its pages first make the accesses, however they share the pages.
    """
    if not run.sampled and not run.of_bursts:
        return None
    unknown = [one for one in others if one.kind is Kind.TOO_FEW_SAMPLES]
    samples = _seen(run, run.accesses)
    if run.sampled and run.accesses < FEWEST_SAMPLES:
        why = (
            f"Whether this run has a NUMA problem cannot be told: there are {samples} of its "
            f"accesses. At least {FEWEST_SAMPLES} are needed, and usually some thousands."
        )
    elif sum(one.nearer for one in unknown) >= MIN_GAIN * run.accesses:
        most = sorted(unknown, key=lambda one: -one.nearer)[:_NAMED]
        names = ", ".join(dict.fromkeys(one.name for one in most))
        why = (
            f"Whether this run has a NUMA problem cannot be told from {samples}: they do not show "
            f"how threads share the pages of {names}."
        )
    else:
        return None
    return Finding(
        kind=Kind.TOO_FEW_SAMPLES,
        structure=None,
        name="",
        threads=(),
        why=why,
        fixes=_fixes(run),
        evidence=(_error(run),),
        figure=Figure.STRUCTURES,
        confidence=1.0,
    )


def _error(run: Run) -> Evidence:
    """How exact the counts of the run are."""
    if run.of_bursts:
        return Evidence("error of all accesses, from bursts (95 %)", run_error(run.trace), "share")
    error = sampling_error(run.trace.info.recorder, run.accesses)
    return Evidence("largest error of a share (95 %)", error, "share")


def _seen(run: Run, accesses: int) -> str:
    """What the run or a structure was judged from, in words."""
    return "the bursts that were counted" if run.of_bursts else counted(accesses, "sample")


def _fixes(run: Run) -> tuple[Fix, ...]:
    """What to do, in the words of the recorder's options."""
    if run.of_bursts:
        changes = run.trace.info.recorder.counted_work is not None
        return _LONGER_OF_BURSTS, _HIGHER_COST if changes else _LARGER_SHARE, _EVERYTHING
    recorder = run.trace.info.recorder
    chosen = recorder.options.get("frequency")
    often = isinstance(chosen, int) and chosen >= _OFTEN
    if recorder.name == "samples" and not often and not samples_are_faults(recorder):
        return _LONGER, _MORE_OFTEN, _OTHERWISE
    return _LONGER, _OTHERWISE
