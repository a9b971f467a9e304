# SPDX-License-Identifier: Apache-2.0
"""Sentences that say what to do, with the loop, the clause or the command."""

from __future__ import annotations

import re
from dataclasses import replace

from numascape.findings import python_advice
from numascape.findings.fills import fills_in_any_order
from numascape.findings.finding import Fix, Place, Remedy
from numascape.findings.own_memory import allocate_in_threads
from numascape.findings.sources import Schedule
from numascape.findings.subject import Run, Subject
from numascape.findings.thresholds import MIN_SERIAL_SHARE
from numascape.naming.frames import is_library_code
from numascape.quantities import bytes_text
from numascape.trace.format import PAGE_BYTES

_ALLOCATES = re.compile(r"(__libc)?_*(calloc|int_malloc|sysmalloc)\b")
"""The functions of the C library in which an allocation touches its memory."""
_FILLS = re.compile(r"_*mem(set|cpy|move)")
_CONSTRUCTS = re.compile(r"\b(vector|valarray|deque|make_unique|make_shared|resize|assign)\b")
"""In C++, a statement with one of these names constructs the elements that it allocates."""
_UNTOUCHED = re.compile(r"alloc|\bmmap\b|\bnew\b[^(;]*\[")
"""A statement with one of these words gets memory that nothing has touched. Other statements that
allocate make an object that contains a container, such as a class with a std::vector."""
_EXPRESSION = re.compile(r"[A-Za-z_]\w*((->|\.)[A-Za-z_]\w*)*")
"""Names of structures that are also expressions in C."""
_SETS_ARRAY = re.compile(
    r"\s*[\w%]+(\([\s:,]*\))?\s*=\s*[-+]?(\d+\.?\d*|\.\d+)([de][-+]?\d+)?(_\w+)?\s*(!.*)?$", re.I
)
"""An assignment of Fortran that sets a whole array to a number: a loop without a `do`."""
_CHUNK = f"a page ({PAGE_BYTES} bytes: {PAGE_BYTES // 8} elements of 8 bytes)"
_FORTRAN = (".f", ".for", ".ftn", ".f77", ".f90", ".f95", ".f03", ".f08", ".f15", ".f18")


def initialise_in_parallel(subject: Subject) -> str:
    """Advise that each page is touched first by the thread that works on it."""
    if (array := _python_array(subject)) is not None:
        return python_advice.initialise_in_parallel(array)
    touched, used = subject.touched_at, subject.used_at
    if used and is_library_code(used.function, used.file):
        used = None  # such as std::sort, whose loop the reader cannot change
    where = f" at {_bare(touched)}" if touched else ""
    like = f" as {used}" if used else " as in the work on it"
    if subject.worked_in is not None:
        like = f" as the parallel region at {_bare(subject.worked_in)}"
    place = Place(subject.row["function"], subject.row["file"], subject.row["line"])
    if in_threads := allocate_in_threads(subject, _bare(place), like):
        return in_threads
    if subject.touched_as is not None:
        return _memory_of_its_own(subject, like)
    if touched and is_library_code(touched.function, touched.file):
        allocated = _bare(_allocated(subject))
        made = f" (allocated at {allocated})" if allocated else ""
        return (
            f"Library code initialises it{where}, for example when a container grows{made}. "
            f"{_untouched(subject)}, and initialise it in parallel in your code, with the same "
            f"division of work{like}."
        )
    if _touched_by_allocation(subject):
        return (
            f"The statement{where} that allocates it also touches it. {_untouched(subject)}, and "
            f"initialise it in parallel, with the same division of work{like}."
        )
    loop = subject.initial_loop
    if loop is not None and touched is not None:
        for outer in (replace(touched, line=line, loop=True) for line in loop.around):
            if subject.run.sources.is_parallel(outer):
                return _divide_alike(subject, outer, like)
    if loop is not None and loop.reason:
        it = f"The loop at {_bare(touched)} cannot run in parallel as it is: it {loop.reason}."
        return _touch_before(subject, it, like)
    if not subject.run.openmp:
        return (
            f"Initialise each part in the thread that works on it{_instead(touched)}, before the "
            f"work starts, with the same division of work{like}. The kernel puts a page on the "
            "node of the thread that touches it first."
        )
    if touched is not None and loop is not None and loop.line:
        on = f"the loop at {_bare(replace(touched, line=loop.line))}"
    elif touched is not None and _SETS_ARRAY.match(subject.run.sources.text(touched)):
        on = f"the initialisation{where}"
    else:
        return _without_loop(subject, like)
    private = f"private({', '.join(loop.private)}) " if loop is not None and loop.private else ""
    directive = _directive(subject, "parallel for", f"{private}schedule(static)")
    return (
        f"Initialise it in parallel: `{directive}` on {on}, with the same division of work{like}. "
        "Each thread then touches its own pages first, and the kernel puts them on its node."
    )


def _memory_of_its_own(subject: Subject, like: str) -> str:
    """Advise on memory that the allocator took from freed blocks: its pages are placed already."""
    touched, earlier = subject.touched_at, subject.touched_as
    # If the C library filled the earlier structure, only its own allocation is known.
    known = touched is not None and _bare(touched) != _bare(_allocated(subject))
    at = f" at {_bare(touched)}" if known else ""
    return (
        f"It has the memory of `{earlier}`, which was freed: its pages were touched first{at}, for "
        f"`{earlier}`. {_allocate_once(subject)}, and initialise it in parallel, with the same "
        f"division of work{like}. The kernel puts a page on the node of the thread that touches it "
        "first."
    )


def _allocate_once(subject: Subject) -> str:
    """How it gets memory that no other structure had."""
    allocated = _bare(_allocated(subject))
    when = f"before `{subject.touched_as}` is freed"
    if subject.row["instances"] > 1:
        when += ", or once for the whole run"
    return f"Allocate it {when}{f' (now at {allocated})' if allocated else ''}"


def _without_loop(subject: Subject, like: str) -> str:
    """Advise on the initialisation if no loop is known that does it and could run in parallel.

    The first touch may be in a function that a loop calls, in the C library, or in a file that may
    not be read.
    """
    touched = subject.touched_at
    at = f" at {_bare(touched)}" if touched else ""
    if _FILLS.match(subject.whole.place[0]):
        return _touch_before(subject, "A function of the C library fills it.", like)
    readable = touched is not None and bool(subject.run.sources.text(touched))
    directive = _directive(subject, "parallel for", "schedule(static)")
    # An assignment to an array of Fortran is a loop, too.
    if readable and not directive.startswith("!"):
        it = f"The code{at} that touches it first is in no loop of its function."
        return _touch_before(subject, it, like)
    what = "the loop" if touched and touched.loop else "the initialisation"
    return (
        f"Initialise it in parallel, with the same division of work{like}: `{directive}` on "
        f"{what}{at}, if its iterations do not depend on each other. Otherwise touch the pages "
        f"before it{_after_allocation(subject)}, in a parallel loop of their own: "
        f"{_own_loop(subject, directive)}. The kernel puts a page on the node of the thread that "
        "touches it first."
    )


def _divide_alike(subject: Subject, loop: Place, like: str) -> str:
    """Advise on a loop that initialises in parallel, but not as the work needs it."""
    if fills_in_any_order(subject.run.trace, subject.structure):
        serial = subject.whole.first_toucher_share >= MIN_SERIAL_SHARE
        by_chance = "chance decides which of them touches a page first"
        who = "the thread that starts first touches most pages" if serial else by_chance
        it = f"All threads write anywhere in it in the loop at {_bare(loop)}, so {who}."
        return _touch_before(subject, it, like)
    if subject.whole.first_toucher_share < MIN_SERIAL_SHARE:
        return (
            f"The loop at {_bare(loop)} that initialises it is parallel already, but divides the "
            f"work differently. Use the same schedule over the same range{like}. A thread then "
            "first touches the pages on which it works."
        )
    return (
        f"The loop at {_bare(loop)} that initialises it is parallel already, but thread "
        f"{subject.whole.first_toucher} touched most pages first. There are two possible causes. "
        "If the loop gives most iterations to this thread, use the same division of work"
        + like
        + ". If this thread had used the memory before, in blocks that were freed and allocated "
        "again, allocate it once for the whole run."
    )


def _untouched(subject: Subject) -> str:
    """How to allocate it without touching it, in the language of the allocation."""
    file = str(subject.row["file"]).lower()
    if file.endswith(".c"):
        return "Allocate it with `malloc`, which does not touch large blocks"
    if file.endswith(_FORTRAN):
        return "Allocate it without an initial value"
    if file.endswith(".rs"):
        return "Allocate it with `vec![0; n]`, which does not touch large blocks"
    return "Use an allocator whose `construct` does nothing, or numascape/numa_vector.hpp"


def _touch_before(subject: Subject, why: str, like: str) -> str:
    """Advise touching the pages in a loop of their own, because the loop that fills them cannot."""
    at = _after_allocation(subject)
    if not subject.run.openmp:
        return (
            f"{why} Before it{at}, let each thread write one byte of each page of the part that "
            f"it will work on, with the same division of work{like}. The kernel puts a page on "
            "the node of the thread that touches it first."
        )
    own = _own_loop(subject, _directive(subject, "parallel for", "schedule(static)"))
    return (
        f"{why} Touch the pages before it{at}, in a parallel loop of their own: {own}, with the "
        f"same division of work{like}. The kernel puts a page on the node of the thread that "
        "touches it first."
    )


def _after_allocation(subject: Subject) -> str:
    allocated = _bare(_allocated(subject))
    return f", right after the allocation at {allocated}" if allocated else ""


def _own_loop(subject: Subject, directive: str) -> str:
    """The code of a loop that only touches the pages."""
    if directive.startswith("!"):
        return f"`{directive}` over the dimension that the work divides, setting it to 0"
    name = subject.name if _EXPRESSION.fullmatch(subject.name) else "p"
    size = subject.row["size"] if subject.row["instances"] == 1 else "bytes"
    return (
        f"`{directive}` and `for (size_t i = 0; i < {size}; i += {PAGE_BYTES}) "
        f"((char *){name})[i] = 0;`"
    )


def initialise_by(subject: Subject, thread: int) -> str:
    """Advise that the only user of the structure touches it first."""
    if (array := _python_array(subject)) is not None:
        return python_advice.initialise_by(array, thread)
    touched = subject.touched_at
    where = f", and not in {touched}" if touched else ""
    return f"Initialise it in thread {thread}, which uses it{where}. Its pages are then local."


def use_contiguous_parts(subject: Subject) -> str:
    """Advise giving each thread a contiguous part of the work."""
    if _python_array(subject) is not None:
        return python_advice.use_contiguous_parts()
    schedule, used = subject.schedule or subject.region_loop, subject.used_at
    if subject.in_tasks:
        where = f" at {_bare(subject.worked_in)}" if subject.worked_in else ""
        return (
            f"Instead of tasks or sections, divide the work{where} in the same way each time: a "
            "loop over the parts with schedule(static). If tasks must stay, name their data in an "
            "`affinity` clause (OpenMP 5.0; the runtime may ignore it)."
        )
    if schedule is not None and scatters(schedule):
        return (
            f"Change {schedule.clause} at {_bare(schedule.place)} to schedule(static). Each "
            "thread then has one contiguous part, the same each time. If the load is imbalanced, "
            f"keep chunks of at least {_CHUNK}, so that no page has two users."
        )
    if schedule is not None and schedule.always_divides_alike:
        return (
            f"The loop at {_bare(schedule.place)} gives each thread a block of iterations, but "
            "these do not use contiguous memory. Exchange the loops, or store the data in the "
            "order of the iterations, so that each thread works on its own contiguous part."
        )
    where = f" {used}" if used else " the loop that works on it"
    if subject.worked_in is not None and subject.is_used_in_call:
        where = f" how the parallel region at {_bare(subject.worked_in)} divides the work,"
    kind = (
        "one block of consecutive iterations (schedule(static))"
        if subject.run.openmp
        else "one block of consecutive elements"
    )
    return f"Change{where} so that each thread works on its own contiguous part: {kind}."


def interleave_pages(subject: Subject) -> str:
    """Advise spreading pages over the nodes: of the whole program, or of this structure only."""
    if (array := _python_array(subject)) is not None:
        return python_advice.interleave_pages(array)
    size = f"{subject.row['size']} bytes"
    allocated = _bare(_allocated(subject))
    if subject.row["kind"] == "small":
        return (
            "Interleave its pages over the nodes, so that no node's memory is the bottleneck: "
            "`numactl --interleave=all` for the whole program. For this structure only: it is many "
            "small blocks, so put them into one array, and allocate it with "
            "`numa_alloc_interleaved`."
        )
    if subject.touched_as is not None:
        return (
            "Interleave its pages over the nodes, so that no node's memory is the bottleneck: "
            "`numactl --interleave=all` for the whole program. For this structure only: it has the "
            f"memory of `{subject.touched_as}`, which was freed, so `mbind` comes too late. "
            "Allocate it with `numa_alloc_interleaved`."
        )
    if _touched_by_allocation(subject):
        no_cpp = str(subject.row["file"]).lower().endswith((".c", ".rs", *_FORTRAN))
        or_vector = "" if no_cpp else " or numascape/numa_vector.hpp"
        return (
            "Interleave its pages over the nodes, so that no node's memory is the bottleneck: "
            "`numactl --interleave=all` for the whole program. For this structure only: the "
            f"statement at {allocated} that allocates it also touches it, so `mbind` comes too "
            f"late. Allocate it with `numa_alloc_interleaved`{or_vector}."
        )
    at = f" after its allocation at {allocated}" if allocated else ""
    return (
        "Interleave its pages over the nodes, so that no node's memory is the bottleneck: "
        "`numactl --interleave=all` for the whole program, or for this structure only "
        f"`mbind(start, {size}, MPOL_INTERLEAVE, ...)`{at}, before it is touched."
    )


def local_parts(subject: Subject) -> tuple[Fix, ...]:
    """Let each thread touch its own part first; or if the parts are not its own, spread them."""
    if subject.is_dealt_out:
        fixed = (
            "A thread takes the next part when it is free. So it is not known in advance which "
            "thread will use a page. For local pages, give each thread fixed parts, and let it "
            "touch them first."
        )
        return Fix(interleave_pages(subject), Remedy.INTERLEAVED), Fix(fixed)
    return (
        Fix(initialise_in_parallel(subject), Remedy.USERS),
        Fix(pin(subject.run)),
        interleave_if_better(subject),
    )


def interleave_if_better(subject: Subject) -> Fix:
    """Interleaving as a fix that is advised only if it is predicted to save more."""
    return Fix(interleave_pages(subject), Remedy.INTERLEAVED, fallback=True)


def scatters(schedule: Schedule | None) -> bool:
    """Whether a schedule clause, which the source shows, scatters the work over the threads."""
    if schedule is None:
        return False
    return schedule.is_dynamic or bool(schedule.chunk)


def replicate(subject: Subject) -> str:
    """Advise a copy per node, with its cost."""
    cost = bytes_text(subject.touched_bytes)
    nodes = subject.run.nodes
    total = ""
    if nodes is not None:
        count = sum(bool(node.cpus) for node in nodes.machine.nodes)
        total = f", {bytes_text(subject.touched_bytes * count)} on the {count} nodes"
    # With two nodes, half of the threads read a copy.
    rarely = subject.footprint.reuse * len(subject.threads) / 2 < 1
    here = " In this run, it would be read less than once, so it would cost more than it saves."
    return (
        f"Or make a copy on each node after it is filled. This needs {cost} of memory per node"
        f"{total}, and makes every access local.{here if rarely else ''}"
    )


def pin(run: Run) -> str:
    """Advise keeping each thread on its CPUs."""
    if run.openmp:
        return "Pin the threads: `OMP_PROC_BIND=close OMP_PLACES=cores`."
    if run.has_python:
        return python_advice.PIN
    return (
        "Pin the threads: `pthread_setaffinity_np` with one CPU each, or `numascape run --plan` "
        "without a change to the program."
    )


def _directive(subject: Subject, construct: str, clause: str) -> str:
    touched = subject.touched_at
    if touched and touched.file.lower().endswith(_FORTRAN):
        return f"!$omp {construct.replace('for', 'do')} {clause}"
    return f"#pragma omp {construct} {clause}"


def _allocated(subject: Subject) -> Place | None:
    row = subject.row
    return Place(row["function"], row["file"], row["line"]) if row["kind"] == "heap" else None


def _python_array(subject: Subject) -> Place | None:
    """The statement that allocated it, if it is an array of a Python program."""
    allocated = _allocated(subject)
    return allocated if allocated and python_advice.is_python(allocated.file) else None


def _touched_by_allocation(subject: Subject) -> bool:
    """Whether its constructor or allocation function touches it, as that of std::vector does."""
    allocated = _allocated(subject)
    if allocated is None or not allocated.line:
        return False
    function, file, line = subject.whole.place
    if (file, line) == (allocated.file, allocated.line) or is_library_code(function, file):
        return True
    # A constructor of the C++ library calls these functions; other statements do, too.
    text = subject.run.sources.text(allocated)
    cpp = not allocated.file.lower().endswith((".c", *_FORTRAN))
    constructs = _CONSTRUCTS.search(text) or (cpp and text and not _UNTOUCHED.search(text))
    return bool(_ALLOCATES.match(function) or (_FILLS.match(function) and constructs))


def _bare(place: Place | None) -> str:
    """file:line, or the function if the line is unknown."""
    if place is None:
        return ""
    name = place.file.rpartition("/")[2]
    return f"{name}:{place.line}" if name and place.line else place.function


def _instead(place: Place | None) -> str:
    return f" instead of all parts in {place}" if place else ""
