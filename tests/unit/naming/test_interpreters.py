# SPDX-License-Identifier: Apache-2.0
"""Names for call stacks of interpreters, with the functions that symbols give."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from numascape.analysis.ownership import Owner, owner_of
from numascape.naming import name_allocation

R = "/usr/lib/R/lib/libR.so"
NODE = "/usr/bin/node"
C = "/lib/x86_64-linux-gnu/libc.so.6"


@dataclass(frozen=True)
class SymbolFrame:
    function: str
    module: str
    file: str = ""
    line: int = 0
    offset: int = 0x10


@pytest.mark.parametrize(
    ("stack", "name"),
    [
        ([("0x197da7", R), ("Rf_allocVector3", R), ("main", "/usr/lib/R/bin/exec/R")], "R objects"),
        ([("Rf_allocVector3", R), ("lm", "/usr/lib/R/library/stats/libs/stats.so")], "R objects"),
        ([("v8::base::OS::Allocate", NODE), ("node::Start", NODE)], "JavaScript objects"),
        (
            [("operator new", NODE), ("v8::internal::AllocAtLeastWithRetry", NODE)],
            "JavaScript objects",
        ),
        ([("CRYPTO_zalloc", NODE), ("CRYPTO_THREAD_lock_new", NODE)], "CRYPTO_zalloc+0x10"),
        ([("solve", "/usr/lib/R/library/stats/libs/stats.so"), ("R_eval", R)], "solve+0x10"),
    ],
)
def test_objects_of_an_interpreter_are_one_structure(
    stack: list[tuple[str, str]], name: str
) -> None:
    frames = [SymbolFrame(function, module) for function, module in stack]
    found = name_allocation(frames)
    assert found.name == name
    row = {"name": name, "kind": "heap", "module": "node", "named": True}
    is_runtime = owner_of(row) is Owner.RUNTIME
    assert is_runtime == name.endswith(" objects")
