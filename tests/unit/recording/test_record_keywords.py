# SPDX-License-Identifier: Apache-2.0
"""The options that type checkers see are those that `numascape.record` accepts."""

from typing import get_type_hints

from numascape.recording.option_fields import named_options
from numascape.recording.options import RecordKeywords, RecordOptions


def test_the_keywords_are_the_options_and_each_may_be_none() -> None:
    expected = {name: one.type | None for name, one in named_options(RecordOptions).items()}
    assert get_type_hints(RecordKeywords) == expected
