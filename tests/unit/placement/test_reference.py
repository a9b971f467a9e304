# SPDX-License-Identifier: Apache-2.0
"""The plans of constructed runs are those of the reference: any changed number is seen."""

import pytest

from synthetic.judged import differences
from synthetic.judged_runs import RUNS


@pytest.mark.parametrize("run", RUNS)
def test_the_plans_are_those_of_the_reference(run: str) -> None:
    assert differences("placement", run) == {}
