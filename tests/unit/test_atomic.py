# SPDX-License-Identifier: Apache-2.0
"""Files appear only when they are complete; other targets, such as devices, are written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from numascape.atomic import replacing_file


def write_half(file: Path) -> None:
    with replacing_file(file) as beside:
        beside.write_text("half")
        raise ZeroDivisionError


def test_a_file_is_replaced_as_a_whole_or_stays(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("former")
    with pytest.raises(ZeroDivisionError):
        write_half(file)
    assert file.read_text() == "former"
    with replacing_file(file) as beside:
        beside.write_text("new")
        assert file.read_text() == "former"
    assert file.read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_pipe_or_device_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with replacing_file(pipe) as beside:
            beside.write_text("page")
        assert os.read(reader, 100) == b"page"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


def test_the_file_of_a_link_is_replaced(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("former")
    link.symlink_to(file)
    with replacing_file(link) as beside:
        beside.write_text("new")
    assert link.is_symlink()
    assert file.read_text() == "new"
