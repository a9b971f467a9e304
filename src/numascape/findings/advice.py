# SPDX-License-Identifier: Apache-2.0
"""What to do, in words that can be followed: the loop, the clause, the command."""

from __future__ import annotations

from numascape.findings.finding import Place
from numascape.findings.subject import PAGE_BYTES, Run, Subject
from numascape.machine.wording import bytes_text
from numascape.naming.frames import is_library_code

_FORTRAN = (".f", ".for", ".ftn", ".f77", ".f90", ".f95", ".f03", ".f08", ".f15", ".f18")


def initialise_in_parallel(subject: Subject) -> str:
    """Have each page touched first by the thread that works on it."""
    touched, used = subject.touched_at, subject.used_at
    where = f" at {_bare(touched)}" if touched else ""
    like = f" as {used}" if used else " as the work on it"
    if subject.worked_in is not None:
        like = f" as the parallel region at {_bare(subject.worked_in)}"
    if touched and is_library_code(touched.function, touched.file):
        allocated = _bare(_allocated(subject))
        made = f" (allocated at {allocated})" if allocated else ""
        return (
            f"A library fills it{where}, as when a container is made or grows{made}: let it leave "
            "the values uninitialised (an allocator whose `construct` does nothing, or "
            "numascape/numa_vector.hpp), and initialise it in parallel yourself, with the same "
            f"division of work{like}."
        )
    if not subject.run.openmp:
        return (
            f"Let each thread initialise its own part{_instead(touched)}, before the work starts, "
            f"with the same division{like}: the kernel puts a page on the node of the thread that "
            "touches it first."
        )
    directive = _directive(subject, "parallel for", "schedule(static)")
    loop = "the loop" if touched and touched.loop else "the initialisation"
    return (
        f"Initialise it in parallel: `{directive}` on {loop}{where}, with the same division of "
        f"work{like}. Then each thread touches its own pages first, and the kernel puts them on "
        "its node."
    )


def initialise_by(subject: Subject, thread: int) -> str:
    """Have the only user touch it first."""
    touched = subject.touched_at
    where = f" what {touched} does now" if touched else " it"
    return f"Let thread {thread}, which uses it, initialise{where}: the pages are then near it."


def contiguous_parts(subject: Subject) -> str:
    """Give each thread a contiguous part of the work."""
    schedule, used = subject.schedule, subject.used_at
    if schedule is not None and schedule.kind in ("dynamic", "guided", "static", "runtime"):
        chunk = _chunk(subject)
        if schedule.kind != "static" or schedule.chunk:
            return (
                f"Change {schedule.clause} at {_bare(schedule.place)} to schedule(static): each "
                "thread then has one contiguous part, the same each time. If the work is uneven, "
                f"keep chunks, but of at least {chunk}, so that no page has two users."
            )
    where = f" {used}" if used else " the loop that works on it"
    kind = (
        "one block of consecutive iterations (schedule(static))"
        if subject.run.openmp
        else "one block of consecutive elements"
    )
    return f"Change{where} so that each thread works on its own contiguous part: {kind}."


def _chunk(subject: Subject) -> str:
    return f"a page ({PAGE_BYTES} bytes: 512 elements of 8 bytes)"


def interleave(subject: Subject) -> str:
    """Spread its pages over the nodes, for the program or for it alone."""
    size = f"{subject.row['size']} bytes"
    allocated = _bare(_allocated(subject))
    at = f" after its allocation at {allocated}" if allocated else ""
    return (
        "Interleave its pages over the nodes, so that no node's memory becomes the bottleneck: "
        "`numactl --interleave=all` for the whole program, or for it alone "
        f"`mbind(start, {size}, MPOL_INTERLEAVE, ...)`{at}, before it is touched."
    )


def replicate(subject: Subject) -> str:
    """Keep a copy per node; says what that costs."""
    cost = bytes_text(subject.touched_bytes)
    nodes = subject.run.nodes
    total = ""
    if nodes is not None:
        count = sum(bool(node.cpus) for node in nodes.machine.nodes)
        total = f", {bytes_text(subject.touched_bytes * count)} on the {count} nodes"
    return (
        f"Or keep a copy on each node, made once it is filled: costs {cost} of memory per "
        f"node{total}, and every access is local."
    )


def pin(run: Run) -> str:
    """Keep threads where they are."""
    if run.openmp:
        return "Pin the threads: `OMP_PROC_BIND=close OMP_PLACES=cores`."
    return (
        "Pin the threads: `pthread_setaffinity_np` with one CPU each, or without changing the "
        "program `numascape run --plan`."
    )


def _directive(subject: Subject, construct: str, clause: str) -> str:
    touched = subject.touched_at
    if touched and touched.file.lower().endswith(_FORTRAN):
        return f"!$omp {construct.replace('for', 'do')} {clause}"
    return f"#pragma omp {construct} {clause}"


def _allocated(subject: Subject) -> Place | None:
    row = subject.row
    return Place(row["function"], row["file"], row["line"]) if row["kind"] == "heap" else None


def _bare(place: Place | None) -> str:
    """file:line, or the function where no line is known."""
    if place is None:
        return ""
    name = place.file.rpartition("/")[2]
    return f"{name}:{place.line}" if name and place.line else place.function


def _instead(place: Place | None) -> str:
    return f" instead of one thread for all in {place}" if place else ""
