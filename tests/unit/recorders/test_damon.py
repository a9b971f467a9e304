# SPDX-License-Identifier: Apache-2.0
"""DAMON's files are written and read in the kernel's format; tests/vm uses a real kernel."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from numascape.errors import NumascapeError
from numascape.live.targets import TargetProcess, target_of
from numascape.recorders.damon import ADMIN, watching


@pytest.fixture
def target() -> TargetProcess:
    found = target_of(os.getpid())
    assert found is not None
    return found


def kernel(root: Path, operations: str = "vaddr\nfvaddr\npaddr\n") -> Path:
    """The folders that the kernel makes for one kdamond; they exist from the beginning."""
    admin = root / ADMIN
    context = admin / "0/contexts/0"
    for folder in ("monitoring_attrs/intervals", "monitoring_attrs/nr_regions",
                   *(f"targets/0/regions/{number}" for number in range(2)),
                   "schemes/0/tried_regions", *(f"schemes/0/access_pattern/{name}" for name in
                                                ("sz", "nr_accesses", "age"))):  # fmt: skip
        (context / folder).mkdir(parents=True)
    (admin / "nr_kdamonds").write_text("0\n")
    (admin / "0/state").write_text("off\n")
    (context / "avail_operations").write_text(operations)
    return admin


def add_region(admin: Path, number: int, start: int, end: int, accesses: int) -> None:
    folder = admin / f"0/contexts/0/schemes/0/tried_regions/{number}"
    folder.mkdir()
    for name, value in (("start", start), ("end", end), ("nr_accesses", accesses)):
        (folder / name).write_text(f"{value}\n")


def test_a_process_is_watched_and_left(tmp_path: Path, target: TargetProcess) -> None:
    admin = kernel(tmp_path)
    add_region(admin, 0, 8192, 12288, 3)
    add_region(admin, 1, 4096, 8192, 20)
    with watching(target, [(4096, 8192), (8192, 12288)], tmp_path) as monitor:
        context = admin / "0/contexts/0"
        assert (context / "operations").read_text() == "vaddr"
        assert (context / "targets/0/pid_target").read_text() == str(os.getpid())
        assert (context / "targets/0/regions/nr_regions").read_text() == "2"
        assert (context / "targets/0/regions/1/start").read_text() == "8192"
        assert (admin / "0/state").read_text() == "on"
        found = monitor.regions()
        assert (admin / "0/state").read_text() == "update_schemes_tried_regions"
    assert found.starts.tolist() == [4096, 8192]
    assert found.ends.tolist() == [8192, 12288]
    assert found.accesses.tolist() == [20, 3]
    assert (admin / "0/state").read_text() == "off"
    assert (admin / "nr_kdamonds").read_text() == "0"


def test_it_is_left_also_after_an_error(tmp_path: Path, target: TargetProcess) -> None:
    admin = kernel(tmp_path)
    with pytest.raises(KeyboardInterrupt), watching(target, (), tmp_path):
        raise KeyboardInterrupt
    assert (admin / "nr_kdamonds").read_text() == "0"


@pytest.mark.parametrize(
    ("operations", "state", "message"),
    [
        ("paddr\n", "off", "cannot watch processes"),
        ("vaddr\n", "on", "another program uses DAMON"),
    ],
)
def test_what_damon_cannot_do_is_one_line(
    tmp_path: Path, target: TargetProcess, operations: str, state: str, message: str
) -> None:
    admin = kernel(tmp_path, operations)
    (admin / "0/state").write_text(state)
    with pytest.raises(NumascapeError, match=message), watching(target, (), tmp_path):
        pass
    assert (admin / "0/state").read_text() == state


def test_a_kernel_without_damon_is_named(tmp_path: Path, target: TargetProcess) -> None:
    with (
        pytest.raises(NumascapeError, match="this kernel has no DAMON"),
        watching(target, (), tmp_path),
    ):
        pass


def test_a_processor_for_which_it_costs_too_much_is_asked_less_often(
    tmp_path: Path, target: TargetProcess
) -> None:
    admin = kernel(tmp_path)
    intervals = admin / "0/contexts/0/monitoring_attrs/intervals"
    (admin / "0/pid").write_text("77\n")
    (tmp_path / "proc/77").mkdir(parents=True)
    used = tmp_path / "proc/77/schedstat"
    with watching(target, (), tmp_path) as monitor:
        used.write_text("1000 0 0\n")
        monitor.check_less_often()
        assert (intervals / "sample_us").read_text() == "10000"
        used.write_text(f"{10**15} 0 0\n")
        monitor.check_less_often()
        assert (intervals / "sample_us").read_text() == "50000"
        assert (intervals / "aggr_us").read_text() == "1000000"
        assert (admin / "0/state").read_text() == "on"
