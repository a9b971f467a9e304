# SPDX-License-Identifier: Apache-2.0
"""Processes are found by number, name and control group; later ones are not mistaken for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from numascape import NumascapeError
from numascape.live.followed import Followed
from numascape.live.targets import find_targets, read_stat, target_of
from unit.live.conftest import PID, STARTED, MakeProcess, stat_line


def pids(root: Path, *named: str) -> list[int]:
    return [target.pid for target in find_targets(named, root)]


def test_a_process_has_a_number_a_name_or_several(
    make_process: MakeProcess, tmp_path: Path
) -> None:
    make_process(10, "server")
    make_process(11, "server")
    make_process(12, "a-name-of-15-ch", "/usr/bin/a-name-of-15-characters-and-more")
    make_process(13, "kworker/0:1", "")  # of the kernel: no command
    assert pids(tmp_path, "10") == [10]
    assert pids(tmp_path, "11,10") == [10, 11]
    assert pids(tmp_path, "server", "12") == [10, 11, 12]
    assert pids(tmp_path, "a-name-of-15-characters-and-more") == [12]
    with pytest.raises(NumascapeError, match="not a control group"):
        pids(tmp_path, "kworker/0:1")


def test_a_control_group_has_the_processes_below_it(
    make_process: MakeProcess, tmp_path: Path
) -> None:
    for pid in (10, 11, 12):
        make_process(pid)
    group = tmp_path / "sys/fs/cgroup/job"
    (group / "step").mkdir(parents=True)
    (group / "cgroup.procs").write_text("10\n")
    (group / "step/cgroup.procs").write_text("12\n99\n")
    assert pids(tmp_path, "/job") == [10, 12]
    assert pids(tmp_path, "/sys/fs/cgroup/job/step") == [12]
    # The root of all groups is not the root of the file system.
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/cgroup.procs").write_text("11\n")
    (tmp_path / "sys/fs/cgroup/cgroup.procs").write_text("")
    assert pids(tmp_path, "/") == [10, 12]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("77", "there is no process 77"),
        ("9" * 500, "there is no process 9"),
        ("nobody", "no process is called 'nobody'"),
        ("/none", "not a control group"),
        ("", "no process is called ''"),
        (",", "no process is called ','"),
    ],
)
def test_what_names_no_process_is_one_line(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    with pytest.raises(NumascapeError, match=message) as error:
        find_targets([text], tmp_path)
    assert "\n" not in str(error.value)


def test_a_later_process_of_the_same_number_is_another_one(
    make_process: MakeProcess, tmp_path: Path
) -> None:
    folder = make_process()
    target = target_of(PID, tmp_path)
    assert target is not None
    assert target.is_alive
    (folder / "stat").write_text(stat_line(PID, "server", STARTED + 1))
    assert not target.is_alive
    (folder / "stat").write_text(stat_line(PID, "server", state="Z"))
    assert not target.is_alive
    (folder / "stat").unlink()
    assert not target.is_alive


def test_a_name_may_have_brackets_and_blanks(tmp_path: Path) -> None:
    (tmp_path / "stat").write_text(stat_line(1, "a) (b) R 7"))
    stat = read_stat(tmp_path / "stat")
    assert stat is not None
    assert (stat.name, stat.state, stat.started) == ("a) (b) R 7", "S", STARTED)


@pytest.mark.parametrize("text", ["", "1 (x", "1 (x) S 2", "1 (x) " + "y " * 50])
def test_a_damaged_stat_file_is_no_process(text: str, tmp_path: Path) -> None:
    (tmp_path / "stat").write_text(text)
    assert read_stat(tmp_path / "stat") is None


def test_of_several_numbers_each_must_be_a_process(
    make_process: MakeProcess, tmp_path: Path
) -> None:
    make_process(10)
    with pytest.raises(NumascapeError, match="there is no process 99"):
        find_targets(["10,99"], tmp_path)


def test_processes_of_a_name_that_start_later_are_followed(
    make_process: MakeProcess, tmp_path: Path
) -> None:
    first = make_process(10)
    named, numbered = Followed(["server"], tmp_path), Followed(["10"], tmp_path)

    def pids_of(followed: Followed) -> list[int]:
        return [target.pid for target, _ in followed.now()]

    assert pids_of(named) == pids_of(numbered) == [10]
    make_process(11)
    assert (pids_of(named), pids_of(numbered)) == ([10, 11], [10])
    # Now, another process has this number.
    (first / "stat").write_text(stat_line(10, "server", STARTED + 1))
    assert (pids_of(named), pids_of(numbered)) == ([10, 11], [])
    for pid in (10, 11):
        (tmp_path / f"proc/{pid}/stat").write_text(stat_line(pid, "server", state="Z"))
    assert pids_of(named) == []
