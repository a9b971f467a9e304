# SPDX-License-Identifier: Apache-2.0
"""In a phase with a large share of the run, one thread does far more work than the mean.

Work is accesses to memory, and it is more only if the thread also executes more instructions. In a
run that computes, work is instructions.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from numascape.analysis.ownership import Owner, is_remainder
from numascape.findings.description import run_computes
from numascape.findings.finding import Evidence, Figure, Finding, Fix, Kind, Place, Remedy
from numascape.findings.page_use import Floats
from numascape.findings.pattern import Pattern
from numascape.findings.sources import Schedule
from numascape.findings.subject import Run
from numascape.findings.thresholds import (
    MAX_CHANGING_SHARE,
    MAX_IDLE_RATIO,
    MIN_COMMON_WORK,
    MIN_IMBALANCE,
    MIN_PHASE_SHARE,
    sureness,
)
from numascape.findings.wording import threads_text
from numascape.quantities import share_of
from numascape.trace.counting import counted_share, estimate_errors
from numascape.trace.phase import loose_phases
from numascape.trace.teams import teams_of


def diagnose(run: Run) -> list[Finding]:
    """Return one finding for each phase whose load is imbalanced."""
    by_structure = (
        run.trace.accesses.lazy()
        .filter(pl.col("structure").is_in(_worked_on(run)))
        .group_by("phase", "thread", "structure")
        .agg(pl.col("reads", "writes").sum())
        .collect()
    )
    executed = run.trace.instructions.group_by("phase", "thread").agg(pl.col("instructions").sum())
    counted = "instructions" if run.computes and run.executed else "accesses"
    by_thread = (
        by_structure.group_by("phase", "thread")
        .agg(accesses=(pl.col("reads") + pl.col("writes")).sum())
        .join(executed, on=["phase", "thread"], how="left")
        .with_columns(pl.col("instructions").fill_null(0))
        .with_columns(count=counted)
        .sort("phase", "thread")
    )
    by_thread = _with_errors(run, by_thread, _worked_on(run))
    loose = loose_phases(run.trace)
    main = run.trace.threads.group_by("process").agg(pl.col("thread").min())["thread"].to_list()
    found = []
    for (phase,), rows in sorted(by_thread.partition_by("phase", as_dict=True).items()):
        working = rows.filter(~pl.col("thread").is_in(main)) if phase in loose else rows
        for together in _living_together(run, working):
            teams, profiles = [together], {}
            if phase in loose or _busy(together).height < together.height:
                profiles = _profiles(run, together, by_structure.filter(pl.col("phase") == phase))
            if phase in loose:
                teams = _with_the_same_work(together, profiles)
            for team in teams:
                finding = _of_phase(run, int(str(phase)), _working(team, profiles))
                if finding is not None:
                    found.append(finding)
    return found


def _with_errors(run: Run, by_thread: pl.DataFrame, structures: list[int]) -> pl.DataFrame:
    """The rows with the `error` of each count (95 %), which is 0 if all accesses were counted."""
    count = pl.col("count")
    if run.sampled:
        return by_thread.with_columns(error=1.96 * count.sqrt())  # Poisson
    if counted_share(run.trace) == 1.0:
        return by_thread.with_columns(error=0.0)
    estimates = estimate_errors(run.trace, ["phase", "thread"], structures)
    relative = pl.col("error") / pl.col("accesses")
    known = estimates.select("phase", "thread", relative=relative)
    return by_thread.join(
        known, on=["phase", "thread"], how="left", maintain_order="left"
    ).with_columns(error=count * pl.col("relative").fill_null(1.0))


def _living_together(run: Run, rows: pl.DataFrame) -> list[pl.DataFrame]:
    """The rows of the threads of each stage. Threads do not wait for those that ended before."""
    threads = run.trace.threads.filter(pl.col("thread").is_in(rows["thread"].implode()))
    return [rows.filter(pl.col("thread").is_in(team)) for team in teams_of(threads)]


def _profiles(run: Run, rows: pl.DataFrame, made: pl.DataFrame) -> dict[int, Floats]:
    """For each thread, the shares of its accesses by structure of the program, read or written.

    `made` has the accesses of each thread by structure.
    """
    named = [
        row["structure"]
        for row in run.trace.structures.iter_rows(named=True)
        if run.owners[row["structure"]] is Owner.PROGRAM and not is_remainder(row)
    ]
    threads = rows["thread"].to_list()
    used = made.filter(pl.col("structure").is_in(named), pl.col("thread").is_in(threads))
    kinds = used.unpivot(["reads", "writes"], index=["thread", "structure"])
    table = kinds.pivot(
        "thread", index=["structure", "variable"], values="value", sort_columns=True
    ).fill_null(0)
    return {
        int(name): table[name].to_numpy() / max(1, int(table[name].sum()))
        for name in table.columns[2:]
    }


def _with_the_same_work(rows: pl.DataFrame, profiles: dict[int, Floats]) -> list[pl.DataFrame]:
    """The rows in teams of threads that do the same work, and so could divide it evenly.

    Threads do the same work if they read and write the same structures of the program.
    """
    teams: list[list[int]] = []
    for thread in rows["thread"].to_list():
        mine = profiles.get(thread)
        alike = [
            team
            for team in teams
            if any(_common(mine, profiles.get(other)) >= MIN_COMMON_WORK for other in team)
        ]
        joined = [thread, *(other for team in alike for other in team)]
        teams = [*(team for team in teams if team not in alike), joined]
    return [rows.filter(pl.col("thread").is_in(team)) for team in teams]


def _common(one: Floats | None, other: Floats | None) -> float:
    """The share of two threads' work that is the same; 1 if the work of one is unknown."""
    return 1.0 if one is None or other is None else float(np.minimum(one, other).sum())


def _working(rows: pl.DataFrame, profiles: dict[int, Floats]) -> pl.DataFrame:
    """The rows of threads that take part in the work.

    A thread with few accesses waits or coordinates, unless they go to the same structures as those
    of the busiest thread. Then it got a smaller part of the work. A thread with very few accesses
    waits in any case.
    """
    busy = _busy(rows)
    if busy.height == rows.height:
        return rows
    busiest = profiles.get(int(rows.sort("count")["thread"][-1]))
    alike = [
        thread
        for thread in _busy(rows, MAX_IDLE_RATIO**2)["thread"].to_list()
        if thread in profiles and _common(profiles[thread], busiest) >= MIN_COMMON_WORK
    ]
    return rows.filter(pl.col("thread").is_in([*alike, *busy["thread"].to_list()]))


def _busy(rows: pl.DataFrame, least: float = MAX_IDLE_RATIO) -> pl.DataFrame:
    """The rows of threads with at least this share of the mean number of accesses."""
    return rows.filter(pl.col("count") >= least * pl.col("count").mean())


def _of_phase(run: Run, phase: int, rows: pl.DataFrame) -> Finding | None:
    counts = rows["count"].to_numpy().astype(float)
    computes = run.computes and run.executed > 0
    share = share_of(float(counts.sum()), run.executed if computes else run.accesses)
    if share < MIN_PHASE_SHARE or len(counts) < 2:
        return None
    threads = rows["thread"].to_numpy()
    ratio = float(counts.max() / counts.mean())
    error = float(rows["error"][int(counts.argmax())] / counts.mean())
    if ratio - error < MIN_IMBALANCE or _executes_no_more(rows["instructions"].to_numpy(), counts):
        return None
    busiest = int(threads[counts.argmax()])
    behind = tuple(int(t) for t in threads[counts > counts.mean()])
    name = run.trace.phases["name"][phase]
    lines = run.trace.source_lines.filter(pl.col("phase") == phase)
    place, region = run.sources.busiest(lines), run.region(phase)
    schedule = run.sources.schedule(place) or run.sources.whole_loop(region)
    if run.sources.is_called(place, region):
        place = region  # its caller divides the work
    if schedule is not None and schedule.kind not in ("", "static"):
        return None  # a dynamic schedule balances time: fewer accesses do not mean less work
    if schedule is None and run.has_dynamic_loop(phase):
        return None  # its loop calls the function with most of the accesses
    if _takes_work_when_free(run, phase):
        return None  # tasks, queues and thread pools also balance time
    saved = 1 - counts.mean() / counts.max()
    where = "The threads" if run.trace.phases.height == 1 else f"In {name}, the threads"
    what = "instructions" if computes else "accesses"
    computing = f" {run_computes(run)} So the nodes of its pages do not matter." if computes else ""
    did = f"{'executes' if computes else 'makes'} {ratio:.1f} times as many {what}"
    return Finding(
        kind=Kind.LOAD_IMBALANCE,
        structure=None,
        name="",
        threads=behind,
        why=(
            f"{where} do unequal work. Thread {busiest} {did} as the mean thread. "
            f"Above the mean: {threads_text(behind)}. The other threads wait for them.{computing}"
        ),
        fixes=(Fix(_even_out(run, place, schedule), Remedy.BALANCED),),
        evidence=(
            Evidence("busiest thread over the mean", ratio, "times"),
            *((Evidence("error of this ratio (95 %)", error, "times"),) if error else ()),
            Evidence(f"share of the run's {what} in this phase", share, "share"),
            Evidence("upper bound of the phase time that balance saves", saved, "share"),
        ),
        figure=Figure.THREADS,
        confidence=sureness(ratio, MIN_IMBALANCE, 2 * MIN_IMBALANCE),
        place=schedule.place if schedule else place,
        nearer=round(saved * share * run.accesses),
    )


def _worked_on(run: Run) -> list[int]:
    """The structures whose accesses are work.

    Waiting threads read flags of a runtime library, or of the program, again and again. That is not
    work.
    """
    owners = run.owners.items()
    return [s for s, owner in owners if owner is not Owner.RUNTIME and s not in run.waited_on]


def _executes_no_more(executed: npt.NDArray[np.uint64], counts: Floats) -> bool:
    """Whether the thread with the most work does not execute many more instructions than others."""
    busiest = float(executed[counts.argmax()])
    return bool(executed.any()) and busiest < MIN_IMBALANCE * float(executed.mean())


def _takes_work_when_free(run: Run, phase: int) -> bool:
    if run.deals_out_tasks(phase) or run.takes_next_part or run.waits_for_work:
        return True
    return _users_change(run, phase)


def _users_change(run: Run, phase: int) -> bool:
    """Whether most of the phase's work is on pages whose users change by chance.

    A thread pool, for example, gives the work to whichever thread is free.
    """
    by_structure = (
        run.rows.filter(pl.col("phase") == phase)
        .group_by("structure")
        .agg(count=(pl.col("reads") + pl.col("writes")).sum())
    )
    changing = 0
    for structure, count in by_structure.iter_rows():
        subject = run.subject(structure)
        if subject is None:
            continue
        if subject.pattern is Pattern.CHANGING or subject.is_dealt_out:
            changing += count
    return changing > MAX_CHANGING_SHARE * int(by_structure["count"].sum())


def _even_out(run: Run, place: Place | None, schedule: Schedule | None) -> str:
    if schedule is not None and schedule.kind in ("", "static"):
        now = f"has {schedule.clause}" if schedule.kind else "has no schedule clause"
        at = f"{schedule.place.file.rpartition('/')[2]}:{schedule.place.line}"
        return (
            f"The loop at {at} {now}. Use `schedule(static, chunk)` with 10 to 20 chunks per "
            "thread and at least one page per chunk. Each page then has the same thread each time. "
            "If the work per iteration cannot be predicted, use `schedule(dynamic, chunk)`."
        )
    where = f" at {place}" if place else ""
    equal = "equal work" if run.computes else "equal numbers of accesses"
    return f"Divide the work{where} into parts with {equal}, not equal lengths" + (
        ", or into smaller chunks." if run.openmp else " (see the finding `hot pages`, if any)."
    )
