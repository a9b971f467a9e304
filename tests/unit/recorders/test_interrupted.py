# SPDX-License-Identifier: Apache-2.0
"""An interrupted conversion keeps the recording, and names its folder."""

from pathlib import Path
from typing import cast

import pytest

from numascape.errors import NumascapeError
from numascape.recorders.record import convert_session
from numascape.recording.session import Session


class Recorded:
    """Stands for a session: only its folder is used before the conversion begins."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder


def test_an_interrupt_before_the_conversion_begins_says_what_is_kept(tmp_path: Path) -> None:
    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    session = cast(Session, Recorded(tmp_path))
    with pytest.raises(NumascapeError, match=f"is kept: numascape convert {tmp_path}"):
        convert_session(session, tmp_path / "run.numascape", interrupt)
    assert tmp_path.is_dir()
