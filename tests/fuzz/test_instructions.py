# SPDX-License-Identifier: Apache-2.0
"""Random instructions have the same results under each recorder, and the right counts.

`bench/instructions` runs more of them.
"""

from functools import partial
from pathlib import Path

import pytest

from behaviour.repeating import repeating
from behaviour.ways import attached
from fuzz.instructions.blocks import (
    Repertoire,
    from_template,
    make_strings_that_fault,
    make_with_segment_and_fault,
    make_with_segments,
)
from fuzz.instructions.forms import Form
from fuzz.instructions.logged import find_logged
from fuzz.instructions.probing import must_be_known, probe
from fuzz.instructions.program import build, make_program, read_results, run
from fuzz.instructions.session import (
    BIN,
    check,
    differences_while,
    make_random,
    record,
    record_command,
    report,
    states_that_differ,
)
from fuzz.instructions.truth import counts_of, find_truth

SEEDS = (1, 2)
BLOCKS = 1000
TOGETHER = 8  # forms in a block
TIMES = 3  # blocks of each template
REPEATED = 300
ATTACHES = 5
OPTIONS = {recorder: ("--recorder", recorder) for recorder in ("compiled", "faults")}

Probed = tuple[Repertoire, list[Form]]


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> Probed:
    folder = tmp_path_factory.mktemp("probe")
    return probe(folder, record_command(folder / "probe.numascape"))


def test_common_instructions_are_known(probed: Probed) -> None:
    refused = [form.info.instruction_string for form in probed[1] if must_be_known(form)]
    assert not refused


@pytest.mark.parametrize("seed", SEEDS)
def test_blocks_are_as_without_recorder(probed: Probed, seed: int, tmp_path: Path) -> None:
    program = make_random(tmp_path, probed[0], seed, BLOCKS)
    found = check(program)
    assert not found, report(program, seed, found[:5])


def test_operands_with_segments_stay_where_they_are(probed: Probed, tmp_path: Path) -> None:
    # DynamoRIO encodes these instructions again, with the base of the segment.
    forms = [form for family in probed[0].forms.values() for form in family if form.touches_memory]
    makers = (
        partial(make_with_segments, forms[at : at + TOGETHER], number)
        for number, at in enumerate(range(0, len(forms), TOGETHER))
    )
    program = make_program(tmp_path, 0, makers)
    found = check(program)
    assert not found, report(program, 0, found[:5])


def test_registers_are_kept_at_faults_of_operands_with_segments(
    probed: Probed, tmp_path: Path
) -> None:
    # DynamoRIO keeps the address in a register that the instruction does not use.
    forms = [form for family in probed[0].forms.values() for form in family if form.touches_memory]
    makers = (partial(make_with_segment_and_fault, form, at) for at, form in enumerate(forms))
    program = make_program(tmp_path, 0, makers)
    build(program)
    native = run(program, "native")
    assert (native["faults"] == 1).sum() > 0.8 * len(forms)
    found = list(states_that_differ(program, native, record(program).results))
    assert not found, report(program, 0, found[:5])


def test_templates_are_as_without_recorder_and_traps_find_their_accesses(
    probed: Probed, tmp_path: Path
) -> None:
    usable = probed[0].templates
    makers = (partial(from_template, each, at) for at, each in enumerate(TIMES * usable))
    program = make_program(tmp_path, 0, makers)
    found = check(program)
    assert not found, report(program, 0, found[:5])
    traps, steps = find_logged(program), find_truth(program).counts
    assert len(steps) > len(usable)
    for number in range(len(program.blocks)):
        assert counts_of(traps, number) == counts_of(steps, number), number


def test_traffic_disturbs_nothing_and_counts_the_same(probed: Probed, tmp_path: Path) -> None:
    program = make_random(tmp_path, probed[0], 4, BLOCKS // 2)
    found = check(program, "--traffic", "--cache", "32K,8,64")
    assert not found, report(program, 4, found[:5])


def test_attaching_disturbs_nothing(probed: Probed, tmp_path: Path) -> None:
    program = make_random(tmp_path, probed[0], 5, REPEATED)
    build(program)
    results = tmp_path / "repeated.results"
    rounds = 0
    with repeating(tmp_path, [program.executable, results, "0", str(REPEATED)]) as process:
        for _ in range(ATTACHES):
            process.begin_rounds(1)
            with attached(process.pid, tmp_path, process.lives, process.waiting):
                process.begin_rounds(2)
            rounds += 3
        process.begin_rounds(1)
        printed = process.end()
    assert process.status == 0
    assert printed.count("round\n") > rounds
    native = run(program, "native")
    first = read_results(results)
    found = list(states_that_differ(program, native, first))
    found += differences_while(program, first, tmp_path / "repeated.results.different")
    assert not found, report(program, 5, found[:5])


@pytest.mark.parametrize("recorder", ["compiled", "faults"])
def test_other_recorders_disturb_nothing(probed: Probed, recorder: str, tmp_path: Path) -> None:
    program = make_random(tmp_path, probed[0], 3, BLOCKS // 2)
    build(program, [str(BIN / "numascape-cc")] if recorder == "compiled" else ["gcc"])
    native = run(program, "native")
    found = list(states_that_differ(program, native, record(program, *OPTIONS[recorder]).results))
    assert not found, report(program, 3, found[:5])


def test_strings_that_fault_count_what_they_did(tmp_path: Path) -> None:
    makers = (partial(make_strings_that_fault, number) for number in range(30))
    program = make_program(tmp_path, 0, makers)
    build(program)
    native = run(program, "native")
    assert native["faults"].any()
    recorded = record(program)
    assert not list(states_that_differ(program, native, recorded.results))
    truth = find_truth(program)
    for number in range(len(program.blocks)):
        assert counts_of(recorded.counts, number) == counts_of(truth.counts, number), number
