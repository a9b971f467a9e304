# SPDX-License-Identifier: Apache-2.0
"""Traces whose tables follow from closed forms, for tests of code that reads traces.

Numbers of pages and threads are chosen by the caller; counts are those of the algorithm, not
measurements.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from synthetic.pattern import DOUBLES, PAGE, Pattern


def stacks(pattern: Pattern) -> None:
    """Add a small stack for every thread, used by its owner only."""
    for t in range(pattern.threads):
        stack = pattern.structure(
            f"Stack#{t}", 2048, kind="stack", function="", file="", line=0, call_stack=[]
        )
        page = np.array([2045, 2046, 2047])
        pattern.access(
            stack, page, np.array(t), np.array([40, 900, 2400]), np.array([30, 700, 900])
        )
        pattern.touch(stack, page[::-1], t, "start", 8)


def naive_matmul(n: int = 1024, threads: int = 64) -> Pattern:
    """C = A * B; thread t computes columns t, t + threads, ...; thread 0 initialises.

    Per element of C: n reads of a row of A and of a column of B, one write of C.
    """
    pattern = Pattern("matmul", threads, ["--size", str(n), "--threads", str(threads)])
    pages = n * n * 8 // PAGE
    page, thread = np.arange(pages)[None, :], np.arange(threads)[:, None]
    columns = n // threads
    per_page = DOUBLES // threads * n  # elements of a page that lie in a thread's columns, n times
    reads = {"A": DOUBLES * columns, "B": per_page, "C": 0}
    for name in ("A", "B", "C"):
        s = pattern.structure(name, pages, line=61 + "ABC".index(name), function="allocate")
        start = (thread == 0) * DOUBLES
        writes = start + (DOUBLES // threads if name == "C" else 0)
        pattern.access(s, page, thread, reads[name], writes)
        pattern.touch(s, page, 0, "initialise", 74)
    stacks(pattern)
    return pattern


def block_matmul(n: int = 1024, threads: int = 64) -> Pattern:
    """C = A * B; thread t computes rows t n / threads ... ; each initialises its rows of A, C."""
    pattern = Pattern("matmul", threads, ["--size", str(n), "--threads", str(threads), "--block"])
    pages = n * n * 8 // PAGE
    page, thread = np.arange(pages)[None, :], np.arange(threads)[:, None]
    own = page * threads // pages == thread
    rows = n // threads
    for name, reads, writes in (
        ("A", own * DOUBLES * n, own * DOUBLES),
        ("B", rows * DOUBLES, own * DOUBLES),
        ("C", 0, own * DOUBLES * 2),
    ):
        s = pattern.structure(name, pages, line=61 + "ABC".index(name), function="allocate")
        pattern.access(s, page, thread, np.asarray(reads), np.asarray(writes))
        pattern.touch(s, page, page * threads // pages, "initialise", 82)
    stacks(pattern)
    return pattern


def bucket_sort(pages: int = 2048, threads: int = 64) -> Pattern:
    """The key buffer's bell curve: each key is the mean of four uniform draws."""
    pattern = Pattern("bucketsort", threads, ["--keys", str(pages * 1024)])
    x = (np.arange(pages) + 0.5) / pages * 4
    bell = np.where(  # density of the sum of four uniform draws (Irwin-Hall, n = 4)
        x < 1,
        x**3,
        np.where(x < 2, -3 * x**3 + 12 * x**2 - 12 * x + 4, 0),
    )
    bell = np.where(x >= 2, bell[::-1], bell) / 6
    thread = np.arange(threads)[:, None]
    page = np.arange(pages)[None, :]
    keys = np.rint(bell * 40_000).astype(np.int64)[None, :]
    jitter = 1 + ((page * 7919 + thread * 104_729) % 97) / 400
    key_buffer = pattern.structure("key_buff", pages, line=33, kind="global", function="")
    pattern.access(key_buffer, page, thread, keys * 2 * jitter, keys * jitter)
    pattern.touch(key_buffer, page, 0, "alloc_key_buff", 112)
    array = pattern.structure("key_array", pages, line=34, kind="global", function="")
    own = page * threads // pages == thread
    pattern.access(array, page, thread, own * 3072, own * 1024)
    pattern.touch(array, page, page * threads // pages, "create_seq", 140)
    pointers = pattern.structure("bucket_ptrs", 64, line=35, kind="global", function="")
    few = np.arange(64)[None, :]
    pattern.access(pointers, few, thread, 60_000 * (few % threads == thread), 30_000)
    pattern.touch(pointers, few, few % threads, "rank", 201)
    stacks(pattern)
    return pattern


def seismic(pages: int = 6000, threads: int = 64, parallel: bool = False) -> Pattern:
    """Field arrays of a stencil: thread t works on its slab and reads one plane of each side."""
    arguments = ["--grid", "192", "--init", "parallel" if parallel else "serial"]
    pattern = Pattern("seismic", threads, arguments, placed_by_first_touch=parallel)
    thread = np.arange(threads)[:, None]
    page = np.arange(pages)[None, :]
    owner = page * threads // pages
    halo = max(1, pages // 192)
    near = (np.maximum(page - halo, 0) * threads // pages <= thread) & (
        np.minimum(page + halo, pages - 1) * threads // pages >= thread
    )
    own = owner == thread
    for i, name in enumerate(("vx", "vy", "vz", "sxx", "syy", "szz", "sxy", "sxz", "syz", "rho")):
        s = pattern.structure(
            f"grid->{name}",
            pages,
            line=88 + i,
            function="allocate_grid",
            call_stack=[f"allocate_grid (seismic.c:{88 + i})", "main (seismic.c:300)"],
        )
        fixed = name == "rho"
        start = own * DOUBLES if parallel else (thread == 0) * DOUBLES
        reads = np.where(own, 20 * DOUBLES * 3, np.where(near, 20 * DOUBLES // 2, 0))
        pattern.access(s, page, thread, reads, own * (0 if fixed else 20 * DOUBLES) + start)
        pattern.touch(s, page, owner if parallel else 0, "initialise_grid", 131)
    stacks(pattern)
    return pattern


def many_threads(threads: int = 1024, pages: int = 8192, shared: int = 1024) -> Pattern:
    """Every thread owns a band of one array and reads all `shared` pages of another."""
    pattern = Pattern("manythreads", threads)
    thread = np.arange(threads)[:, None]
    page = np.arange(pages)[None, :]
    own = page * threads // pages == thread
    field = pattern.structure("field", pages)
    noise = (page * 31 + thread * 17) % 64
    pattern.access(field, page, thread, own * 5000 + (noise == 0) * noise, own * 2500)
    pattern.touch(field, page, page * threads // pages)
    table = pattern.structure("table", shared)
    few = np.arange(shared)[None, :]
    pattern.access(table, few, thread, 100 + (few * thread) % 900, 0)
    pattern.touch(table, few, 0)
    return pattern


def many_phases(threads: int = 64, phases: int = 64, pages: int = 2048) -> Pattern:
    """Each phase, a time step, moves every thread's part by some pages, and reads a table."""
    pattern = Pattern("manyphases", threads)
    pattern.placed_by_first_touch = True
    field, table = pattern.structure("field", pages), pattern.structure("table", 256)
    thread, page = np.arange(threads)[:, None], np.arange(pages)[None, :]
    few = np.arange(256)[None, :]
    for step in range(phases):
        phase = pattern.phase(f"step {step}", line=100 + step, repetitions=1 + step % 4)
        own = (page + 16 * step) % pages * threads // pages == thread
        noise = (page * 31 + thread * 17 + step * 7) % 64
        pattern.access(field, page, thread, own * (5000 + 40 * noise), own * 2500, phase=phase)
        pattern.access(table, few, thread, 100 + few * (thread + step) % 90, 0, phase=phase)
        sums = pl.concat(pattern.accesses[-2:]).group_by("structure", maintain_order=True).sum()
        for number, name in ((field, "update"), (table, "look_up")):
            row = sums.row(number, named=True)
            pattern.used_at(number, name, 200 + step, row["reads"], row["writes"], phase)
    pattern.touch(field, page, page * threads // pages)
    pattern.touch(table, few, 0)
    return pattern


def many_pages(pages: int = 10_000_000, threads: int = 64) -> Pattern:
    """One large array, split among the threads, touched first by thread 0."""
    pattern = Pattern("manypages", threads)
    page = np.arange(pages)
    large = pattern.structure("large", pages)
    noise = (page * 2_654_435_761 >> 7) % 1000
    pattern.access(large, page, page * threads // pages, 512 + noise, 512)
    pattern.touch(large, page, 0)
    return pattern


HOSTILE = (
    "</script><script>window.pwned = 1</script>",
    '"><img src=x onerror="window.pwned = 1">',
    "<!--",
    "\u202egnp.exe\x00\x1b[31m",
    "&lt;b&gt;${1+1}{{7*7}}",
    "very::long<" + "template_argument, " * 526 + "0>",
)


def hostile() -> Pattern:
    """Names made to break out of the page, and one of 10 000 characters."""
    pattern = Pattern("</title><script>window.pwned = 1</script>", 4, ["<i>", "--", "</script>"])
    for i, name in enumerate(HOSTILE):
        s = pattern.structure(name, 16, function=name, file=name, module=name, call_stack=[name])
        page, thread = np.arange(16)[None, :], np.arange(4)[:, None]
        pattern.access(s, page, thread, (6 - i) * 100, 10)
        pattern.touch(s, page, 0, name, 1)
    return pattern


def sparse() -> Pattern:
    """A terabyte mapping with three touched islands, and a structure that nobody used."""
    pattern = Pattern("sparse", 2)
    s = pattern.structure("reservation", 1 << 28, kind="mapping")
    for start in (0, 1 << 20, (1 << 28) - 4):
        page = np.arange(start, start + 4)
        pattern.access(s, page, np.array(1), 7, 1)
        pattern.touch(s, page, 1)
    pattern.structure("unused", 100)
    return pattern


PATTERNS = {
    "matmul-naive": naive_matmul,
    "matmul-block": block_matmul,
    "bucketsort": bucket_sort,
    "seismic-serial": seismic,
    "seismic-parallel": lambda: seismic(parallel=True),
    "many-threads": many_threads,
    "many-pages": many_pages,
    "many-phases": many_phases,
    "hostile": hostile,
    "sparse": sparse,
}
