# SPDX-License-Identifier: Apache-2.0
"""The owner of a structure's memory follows from its kind, name and module."""

import pytest

from numascape.analysis.ownership import Owner, is_remainder, owner_of
from numascape.naming.python_objects import INTERPRETER_NAMES
from numascape.naming.runtime_objects import RUNTIME_NAMES

PROGRAM, RUNTIME, STACK = Owner.PROGRAM, Owner.RUNTIME, Owner.STACK


@pytest.mark.parametrize(
    ("kind", "name", "module", "owner"),
    [
        ("heap", "A", "sum", PROGRAM),
        ("stack", "A", "sum", STACK),
        ("stack", "[heap]", "/lib/libc.so.6", STACK),
        ("heap", min(RUNTIME_NAMES), "sum", RUNTIME),
        ("heap", min(INTERPRETER_NAMES), "sum", RUNTIME),
        ("global", "sum (code and constants)", "sum", RUNTIME),
        ("global", "sum (code and unnamed data)", "sum", RUNTIME),
        ("global", "sum (code)", "sum", PROGRAM),
        ("global", "variables under a page of sum", "sum", PROGRAM),
        ("global", "variables under a page of libx.so.2", "/lib/libx.so.2", RUNTIME),
        ("global", "A", "/opt/libx.so.2", PROGRAM),
        ("heap", "allocator's own memory and free blocks", "sum", RUNTIME),
        ("mapping", "[vdso]", "", RUNTIME),
        ("global", "environ", "/lib/x86_64-linux-gnu/libc.so.6", RUNTIME),
        ("heap", "A", "/usr/lib/libmpi.so.40", RUNTIME),
        ("heap", "A", "/usr/lib/mylibmpi.so", PROGRAM),
        ("global", "runtime.mheap_", "sort", RUNTIME),
        ("global", "internal/runtime/maps.emptyGroup", "sort", RUNTIME),
        ("global", "go:itab.*os.File,io.Writer", "sort", RUNTIME),
        ("global", "slices..dict.pdqsortOrdered[float64]", "sort", RUNTIME),
        ("global", "$f64.3fe0000000000000", "sort", RUNTIME),
        ("global", "main.table", "sort", PROGRAM),
        ("global", "math/rand.rngCooked", "sort", PROGRAM),
        ("heap", "runtime.table", "sort", PROGRAM),
        ("global", "_PyRuntime", "/usr/lib/libpython3.11.so.1.0", RUNTIME),
        ("global", "PyDict_Type", "/usr/bin/python3.13", RUNTIME),
        ("heap", "cells", "/usr/lib/libpython3.11.so.1.0", PROGRAM),
        ("global", "R_NilValue", "/usr/lib/R/lib/libR.so", RUNTIME),
        ("global", "table", "/opt/python_solver", PROGRAM),
        ("global", "table", "/usr/lib/R/library/stats/libs/stats.so", PROGRAM),
    ],
)
def test_owners(kind: str, name: str, module: str, owner: Owner) -> None:
    assert owner_of({"kind": kind, "name": name, "module": module, "named": True}) is owner


def test_an_unnamed_rest_of_a_library_is_the_runtimes() -> None:
    rest = {"kind": "global", "name": "A", "named": False}
    assert owner_of({**rest, "module": "/opt/libx.so.2"}) is RUNTIME
    assert owner_of({**rest, "module": "sum"}) is PROGRAM


def test_a_frame_without_known_variables_is_no_remainder() -> None:
    frame = {"kind": "local", "name": "frame of work()", "module": "sum", "named": False}
    assert owner_of(frame) is PROGRAM
    assert not is_remainder(frame)
    assert is_remainder({**frame, "kind": "heap"})
    assert owner_of({**frame, "module": "/opt/libx.so.2"}) is RUNTIME
