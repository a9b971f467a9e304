# SPDX-License-Identifier: Apache-2.0
"""Libraries that are unloaded, and others that are loaded at the same addresses."""

from typing import Any

import pytest

from integration import test_source_lines as lines

ROUNDS = 3


@pytest.mark.parametrize(("structure", "words"), [("first_words", 1000), ("second_words", 2000)])
def test_each_library_has_its_own_counts(compiled: Any, structure: str, words: int) -> None:
    recording = compiled("unloading")
    assert (recording.output, recording.status) == ("right\n", 7)
    assert recording.total(structure) == (0, ROUNDS * words)


def test_each_library_has_its_own_lines(compiled: Any) -> None:
    found = lines.by_line(compiled("unloading"), "unloading_library.c")
    assert found["first_words", "first"] == (0, ROUNDS * 1000)
    assert found["second_words", "second"] == (0, ROUNDS * 2000)
