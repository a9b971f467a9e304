# SPDX-License-Identifier: Apache-2.0
"""Programs with unusual actions have the same result in every way to run them."""

from __future__ import annotations

from pathlib import Path

import pytest

from behaviour.conftest import Native
from behaviour.ways import ATTACH, ATTACHES, BINARY, BURSTS, COMPILED, FAULTS, PLAN, behave

SUBJECTS = sorted(
    path.stem
    for path in (Path(__file__).parent / "programs").glob("*.c")
    if path.stem != "own_state"
)
# Compiled code counts in thread-local storage, which these threads share with their parent.
NEEDS_STORAGE = {(COMPILED, "thread_without_storage"), (COMPILED, "unmapped_places")}
# Each thread needs 4 GiB of addresses.
NEEDS_ADDRESSES = {(COMPILED, "address_limit"), (FAULTS, "address_limit")}
# If it is not recorded, mlockall fills the counters of compiled code.
FILLS_COUNTERS = {(COMPILED, "locked_memory")}
# Signals that arrive while the recorder enters or leaves may be different (docs/behaviour.md).
SEES_ATTACHING = {(ATTACH, "long_waits"), (ATTACH, "signals_to_oneself")}
# The recorder refuses to attach to a process with locked memory, or with few addresses.
REFUSES_ATTACHING = {(ATTACH, "locked_memory"), (ATTACH, "address_limit")}
LEFT_OUT = NEEDS_STORAGE | NEEDS_ADDRESSES | SEES_ATTACHING | REFUSES_ATTACHING
# Its subject is the first code that a recorder sees, so several attaches test nothing more.
FEWER_ATTACHES = {"first_faults": 1}
CELLS = [
    (way, subject)
    for way in (BINARY, BURSTS, FAULTS, PLAN, COMPILED, ATTACH)
    for subject in SUBJECTS
    if (way, subject) not in LEFT_OUT
]


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
    assert (way, subject) in FILLS_COUNTERS or native(program) == by_itself
    attaches = FEWER_ATTACHES.get(subject, ATTACHES)
    assert behave(way, tmp_path, [program], attaches=attaches) == by_itself
