# SPDX-License-Identifier: Apache-2.0
"""A frame that is copied once gives the same name as the frame of the native library."""

from dataclasses import dataclass

import pytest

from numascape.naming.allocations import allocation_site
from numascape.naming.known_frames import known_frame


@dataclass
class _Given:
    function: str
    file: str = ""
    line: int = 0
    module: str = "/usr/bin/node"
    column: int = 0
    offset: int = 0
    call_notes: str = ""


@pytest.mark.parametrize(
    ("frame", "name"),
    [
        (_Given("grow", offset=0x1B), "grow+0x1b"),
        (_Given("grow", file="/nowhere/grow.c", line=7), "grow+7"),
        (_Given("0x1234"), "node+0x1234"),
    ],
)
def test_a_copy_has_the_same_name(frame: _Given, name: str) -> None:
    copied = allocation_site([known_frame(frame)])
    assert copied == allocation_site([frame])
    assert copied.name.name == name
