# SPDX-License-Identifier: Apache-2.0
"""The data of the page of the experiment with the page cache."""

from __future__ import annotations

import resource

from numascape.report.experiment import Experiment, experiment_conclusion, experiment_data
from synthetic.page_cache import GIB, page_cache_results


def test_points_have_the_range_of_their_samples_and_bytes_by_node() -> None:
    data = experiment_data(Experiment(page_cache_results(), 4 * GIB, 2, False, ["a note"]))
    assert data["sizes"] == [0, 2 * GIB, 4 * GIB, 8 * GIB]
    assert (data["ways"], data["nodes"]) == (["first touch", "swept"], [0, 1])
    last = data["points"][-2]
    assert (last["size"], last["way"], last["local"]) == (8 * GIB, "first touch", 0.625)
    assert (last["low"], last["median"], last["high"]) == (630, 650, 680)
    assert last["cache"] == [4 * GIB, 4 * GIB]
    assert sum(last["pages"]) == 1 << 20
    assert last["freed_by_kswapd"] == 5000 * resource.getpagesize()
    assert last["freed_by_program"] == 7 * resource.getpagesize()


def test_the_conclusion_is_of_the_size_with_fewest_local_pages() -> None:
    results = page_cache_results()
    assert experiment_conclusion(results) == (
        "With a file of 4 GiB in the page cache, 50 % of the pages are local with first touch; "
        "swept 100 %."
    )
    assert experiment_conclusion(results[:2]).startswith("All pages are local with first touch")
    assert experiment_conclusion([one for one in results if one.way == "swept"]) == ""
