# SPDX-License-Identifier: Apache-2.0
"""Each threshold decides at its value: one case is just below it, and one is just above it.

The numbers are written out here, so that a changed threshold is noticed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from numascape.findings import thresholds
from unit.findings import fill_cases as fills
from unit.findings import line_cases as lines
from unit.findings import moving_cases as moving
from unit.findings import node_cases as nodes
from unit.findings import part_cases as parts
from unit.findings import pattern_cases as patterns
from unit.findings import run_cases as runs
from unit.findings import seen_line_cases as seen
from unit.findings import stage_cases as stages
from unit.findings import stream_cases as streams


class Case(NamedTuple):
    """`holds(below)` and `holds(above)` differ; `then` is what holds above."""

    holds: Callable[[float], bool]
    below: float
    above: float
    then: bool


CASES = {
    "MIN_STRUCTURE_SHARE": Case(runs.is_examined, 0.0098, 0.0102, True),
    "MIN_WRITTEN_LINES": Case(runs.common_lines_matter, 0.0049, 0.0051, True),
    "MIN_COMPARED_SHARE": Case(runs.is_compared_with, 0.24, 0.26, True),
    "MIN_SHARED_PAGES": Case(runs.is_compared_with_small_memory, 15, 16, False),
    "MIN_FIRST_TOUCH_RATIO": Case(runs.touches_more_than_its_part, 1.98, 2.02, True),
    "HALF_KNOWN_CONFIDENCE": Case(runs.is_surer_than, 0.49, 0.51, False),
    "MIN_SERIAL_SHARE": Case(runs.first_touch_is_serial, 0.79, 0.81, True),
    "MAX_LINES_PER_ACCESS": Case(runs.fetches_few_lines, 1 / 130, 1 / 126, False),
    "MIN_FOREIGN_SHARE": Case(runs.is_used_elsewhere, 0.49, 0.51, True),
    "MIN_FAR_SHARE": Case(parts.is_far, 0.24, 0.26, True),
    "MIN_DOMINANT_SHARE": Case(patterns.is_split, 0.74, 0.76, True),
    "MAX_EVEN_SHARE_RATIO": Case(patterns.is_shared_by_all, 1.73, 1.77, False),
    "MIN_USER_SHARE": Case(patterns.is_user, 0.049, 0.051, True),
    "MAX_WRITTEN_SHARE": Case(runs.is_read_mostly, 0.0095, 0.0105, False),
    "MIN_INITIAL_BYTES": Case(parts.writes_are_initial, 3.9, 4.1, True),
    "MAX_PARALLEL_SHARE": Case(runs.works_in_parallel, 0.945, 0.955, False),
    "MIN_WORK_OF_INITIALISER": Case(runs.initialiser_works, 0.49, 0.51, True),
    "MAX_WORK_OF_INITIALISER": Case(runs.initialiser_works, 3.95, 4.05, False),
    "MAX_PART_OF_PAGES": Case(lambda part: runs.main_works(1.0, part), 0.59, 0.61, True),
    "MIN_WORK_AFTER_FILL": Case(fills.is_used_enough_after_fill, 0.98, 1.02, True),
    "DEFAULT_CACHE_BYTES": Case(runs.fits_the_cache, 31 << 12, 33 << 12, False),
    "SECOND_LEVEL_BYTES": Case(runs.fit_the_cache_together, 31 << 12, 33 << 12, False),
    "MIN_CACHE_RESIDENT_SHARE": Case(runs.cached_is_reported, 0.049, 0.051, True),
    "MIN_CACHE_RESIDENT_BYTES": Case(runs.size_is_reported, 127, 128, True),
    "MAX_NEGLIGIBLE_SIZE": Case(runs.is_negligible, 4 / 81, 4 / 79, False),
    "MAX_REUSE_RATIO": Case(runs.does_not_compete, 3.95, 4.05, True),
    "MIN_REUSE": Case(runs.is_reused, 15.9, 16.1, True),
    "MIN_BOUNDARY_SHARE": Case(patterns.boundaries_matter, 0.24, 0.26, True),
    "MIN_ORDERED_SHARE": Case(lambda covered: runs.main_works(covered, 0.5), 0.89, 0.91, False),
    "MIN_PART_ENDS": Case(patterns.parts_are_short, 14 / 54, 14 / 46, True),
    "MIN_ORDERED_PAGES": Case(patterns.order_is_known, 63, 64, True),
    "MAX_BOUNDARY_USERS": Case(patterns.few_users_at_boundaries, 2.97, 3.03, False),
    "MIN_FOLLOWED_SHARE": Case(lines.lines_are_followed, 31 / 64, 33 / 64, True),
    "MAX_SHARED_LINES": Case(lines.parts_are_separate, 15.5 / 64, 16.5 / 64, False),
    "MIN_WRITERS": Case(lambda writers: lines.parts_are_separate(0.1, int(writers)), 1, 2, True),
    "MIN_LINE_PAIRS": Case(seen.pairs_are_enough, 15.8, 16.1, True),
    "MAX_LINE_OVERLAP": Case(seen.lines_are_own, 4 / 16, 5 / 16, False),
    "MIN_BYTE_PAIRS": Case(seen.bytes_are_compared, 2.9, 3.1, True),
    "MIN_LINE_OVERLAP": Case(seen.regular_shares_are_parts, 7 / 16, 8 / 16, False),
    "MIN_HOME_SHARE": Case(seen.is_home, 0.24, 0.26, True),
    "MIN_GUEST_SHARE": Case(seen.is_guest, 0.049, 0.051, True),
    "MIN_SEPARATE_SHARE": Case(seen.enough_is_separate, 0.24, 0.26, True),
    "MIN_WRITTEN_SHARE": Case(seen.lines_are_written, 0.049, 0.051, True),
    "MIN_PACKED_SHARE": Case(seen.packed_lines_matter, 0.00049, 0.00051, True),
    "MIN_ALONE_SHARE": Case(seen.was_alone, 0.97, 0.99, True),
    "MIN_FALSE_SHARING": Case(lambda share: lines.is_false(share), 0.49, 0.51, True),
    "MIN_TRANSFERS_PER_ACCESS": Case(lines.matter, 0.00049, 0.00051, True),
    "MIN_TRANSFERS": Case(lines.are_enough, 999, 1000, True),
    "MIN_JUDGED": Case(lines.are_known, 99, 100, True),
    "MIN_HOT_RATIO": Case(runs.is_hot, 1.48, 1.52, True),
    "MIN_PAGES_OF_PART": Case(parts.parts_are_long_enough, 255 / 64, 4, True),
    "MAX_HOT_SHARE": Case(runs.is_concentrated, 0.245, 0.26, False),
    "MIN_IMBALANCE": Case(lambda ratio: runs.imbalanced(ratio, 0.5), 1.39, 1.41, True),
    "MIN_COMMON_WORK": Case(streams.does_the_same_work, 0.49, 0.51, True),
    "MAX_IDLE_RATIO": Case(patterns.takes_part, 0.099, 0.101, True),
    "MAX_CHANGING_SHARE": Case(parts.load_is_judged, 0.49, 0.51, False),
    "MIN_PHASE_SHARE": Case(lambda share: runs.imbalanced(2.0, share), 0.098, 0.102, True),
    "MIN_DISPLACED_PAGES": Case(nodes.thread_moved, 5, 6, True),
    "MIN_USER_SPREAD": Case(patterns.users_are_drawn, 0.0147, 0.0153, True),
    "MIN_THREADS_OF_CHANCE": Case(patterns.one_thread_varies, 3, 4, False),
    "MIN_DRAWN_ACCESSES": Case(patterns.are_parts, 127, 129, True),
    "MAX_PAGE_WEIGHT": Case(patterns.page_of_one_thread_counts, 3.9, 4.1, False),
    "MIN_INNER_SHARE": Case(patterns.pages_between_ends_are_enough, 0.098, 0.102, True),
    "MIN_CHANCE_ACCESSES": Case(patterns.are_drawn, 0.49, 0.51, True),
    "MIN_ROLES": Case(streams.threads_have_roles, 0.49, 0.51, True),
    "MIN_HANDED_SHARE": Case(streams.most_is_handed_on, 0.49, 0.51, True),
    "MAX_READS_PER_WRITE": Case(streams.is_read_about_once, 31.8, 32.2, False),
    "MIN_FILLS": Case(streams.is_filled_again, 0.98, 1.02, True),
    "MIN_INSTANCES_OF_STREAM": Case(streams.blocks_follow_each_other, 15, 16, True),
    "MIN_WAITING_SHARE": Case(runs.is_waited_on, 0.49, 0.51, True),
    "MAX_BLOCK_RUNS": Case(patterns.users_change_often, 12, 13, True),
    "MIN_TURN_CORRELATION": Case(patterns.parts_come_in_turn, 0.8, 0.95, True),
    "MIN_PERIODIC_CORRELATION": Case(patterns.users_follow_no_rule, 0.4, 0.6, False),
    "MIN_USER_DIFFERENCE": Case(patterns.users_differ, 0.094, 0.106, True),
    "MIN_MAIN_STAGE": Case(stages.is_shared_if_looked_up, 0.65, 0.68, True),
    "MIN_WRITERS_IN_TURN": Case(moving.writers_change, 19 / 40, 21 / 40, True),
    "MIN_PHASE_WORK": Case(runs.phase_counts, 0.09, 0.11, True),
    "MIN_FILLED_SHARE": Case(parts.phase_fills, 0.49, 0.51, True),
    "MIN_CHANGED_SHARE": Case(runs.users_change_enough, 0.39, 0.41, True),
    "MIN_DIVIDED_SHARE": Case(runs.divided_phases_matter, 0.49, 0.51, True),
    "MIN_HUGE_PAGES": Case(runs.has_huge_pages, 2047 / 512, 4, True),
    "MIN_ONE_NODE_SHARE": Case(nodes.one_node_serves, 0.74, 0.76, True),
    "MAX_ONE_NODE_THREADS": Case(nodes.threads_are_spread, 0.59, 0.61, False),
    "MIN_DISPLACED_SHARE": Case(nodes.pages_are_displaced, 0.098, 0.102, True),
    "MIN_FULL_NODE_PROBABILITY": Case(nodes.node_was_full, 0.79, 0.81, True),
    "MAX_INTERLEAVED_RATIO": Case(nodes.is_interleaved, 1.28, 1.32, False),
    "MAX_REMOTE_SHARE": Case(nodes.work_is_remote, 0.098, 0.102, True),
    "MIN_GAIN": Case(runs.is_worth_reporting, 0.0097, 0.0103, True),
    "LOOKUP_WEIGHT": Case(streams.lookups_matter, 0.00095, 0.00105, True),
    "MIN_LOOKUP_BYTES": Case(lambda pages: streams.lookups_matter(0.008, pages), 511, 512, True),
    "MIN_RELEVANT_GAIN": Case(runs.gain_matters, 0.019, 0.021, True),
    "MIN_COMPUTING_SHARE": Case(runs.computes, 0.49, 0.51, True),
    "MAX_SHARED_SHARE": Case(runs.little_is_shared, 0.24, 0.26, False),
}


@pytest.mark.parametrize("name", CASES)
def test_a_threshold_decides_where_it_says(name: str) -> None:
    case = CASES[name]
    assert (case.holds(case.below), case.holds(case.above)) == (not case.then, case.then)


def test_two_threads_with_three_fifths_of_the_pages_each_have_no_parts() -> None:
    assert runs.main_works(1.0, 0.6)


def test_a_main_thread_oversees_from_nine_tenths_of_the_pages() -> None:
    assert not runs.main_works(0.9, 0.5)


def test_each_threshold_has_its_case() -> None:
    assert {name for name in vars(thresholds) if name.isupper()} == set(CASES)


def test_no_other_file_of_the_findings_has_a_limit_of_its_own() -> None:
    folder = Path(thresholds.__file__).parent
    files = {path.name: path.read_text() for path in folder.rglob("*.py")}
    limits = {
        name
        for name, text in files.items()
        if re.search(r"^_?(MIN|MAX|LEAST|MOST)_?\w*(: \w+)? = ", text, re.MULTILINE)
    }
    # How many samples are enough: test_samples.py has the cases.
    assert limits == {"thresholds.py", "sample_sizes.py"}
