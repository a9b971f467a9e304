# SPDX-License-Identifier: Apache-2.0
"""Programs that are started with vfork, exec and the C library, under each recorder."""

from pathlib import Path
from typing import Any

import pytest

WORDS, PAGES = 1024, 64
MODES = ["vfork", "vfork_fail", "exec_fail", "empty", "own", "system", "raw"]
# How many processes run `after`, or write WORDS words.
STARTED = {"vfork": 1, "empty": 1, "own": 1, "system": 2, "raw": 1}


@pytest.fixture(scope="module")
def start(built: Path, programs: Path, record: Any) -> Any:
    """Return start(recorder, mode) -> Recording."""

    def run(recorder: str, mode: str) -> Any:
        program = (built if recorder == "compiled" else programs) / "starts"
        return record(program, mode, recorder=recorder)

    return run


@pytest.mark.parametrize("recorder", ["compiled", "binary", "faults"])
@pytest.mark.parametrize("mode", MODES)
def test_what_is_started_ends_as_it_should(start: Any, recorder: str, mode: str) -> None:
    recording = start(recorder, mode)
    assert (recording.output.splitlines()[-1], recording.status) == ("right", 7)


@pytest.mark.parametrize("recorder", ["compiled", "binary"])
@pytest.mark.parametrize("mode", MODES)
def test_it_is_recorded_and_its_parent_too(start: Any, recorder: str, mode: str) -> None:
    recording = start(recorder, mode)
    assert recording.total("data", process=0) == (0, PAGES)
    reads, writes = recording.total("data")
    assert (reads, writes - PAGES) == (0, WORDS * STARTED.get(mode, 0))


@pytest.mark.parametrize("recorder", ["compiled", "binary", "faults"])
@pytest.mark.parametrize("mode", ["vfork", "vfork_fail", "exec_fail"])
def test_the_parent_goes_on_to_its_end(start: Any, recorder: str, mode: str) -> None:
    trace = start(recorder, mode).trace
    assert trace.threads.filter(process=0).height == 1
    data = trace.structures.filter(name="data", process=0)
    assert data.height == 1
    placed = trace.placement.join(data, on="structure")
    assert placed["page"].n_unique() == PAGES
    assert not any("exec" in sentence for sentence in trace.info.unseen)
