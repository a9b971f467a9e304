# SPDX-License-Identifier: Apache-2.0
"""What programs do to themselves and to the kernel has the same result in every way to run them."""

from __future__ import annotations

from pathlib import Path

import pytest

from behaviour.conftest import Native
from behaviour.ways import ATTACH, BINARY, COMPILED, FAULTS, PLAN, behave

SUBJECTS = sorted(
    path.stem
    for path in (Path(__file__).parent / "programs").glob("*.c")
    if path.stem != "own_state"
)
# Compiled code counts in thread-local storage.
NEEDS_STORAGE = {(COMPILED, "thread_without_storage")}
# A recorder attaches to these and detaches while they work.
ATTACHED = (
    "advice",
    "alarm_storm",
    "awaited_signals",
    "breakpoints",
    "code_mapped_twice",
    "ended_calls",
    "exec_chain",
    "fault_jumps",
    "faults_after_children",
    "faults_beside_children",
    "forks",
    "generated_code",
    "interrupted_calls",
    "kernel_reads",
    "kernel_values",
    "large_block",
    "libraries",
    "many_threads",
    "not_executable",
    "program_break",
    "raw_clone",
    "remapping",
    "segment_bases",
    "shared_memory",
    "short_threads",
    "small_stacks",
    "thread_without_storage",
    "unmapped_places",
    "user_faults",
    "vforks",
    "write_barrier",
)
CELLS = [
    (way, subject)
    for way in (BINARY, FAULTS, PLAN, COMPILED)
    for subject in SUBJECTS
    if (way, subject) not in NEEDS_STORAGE
] + [(ATTACH, subject) for subject in ATTACHED]


@pytest.mark.parametrize(("way", "subject"), CELLS)
def test_as_by_itself(
    programs: Path,
    compiled_programs: Path,
    native: Native,
    tmp_path: Path,
    way: str,
    subject: str,
) -> None:
    by_itself = native(programs / subject)
    assert by_itself.status == 7, by_itself
    program = (compiled_programs if way == COMPILED else programs) / subject
    assert native(program) == by_itself
    assert behave(way, tmp_path, [program]) == by_itself
