# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from unit.frozen_data import broken_promises, dataclasses_of


def test_data_are_never_changed_nor_compared_element_by_element() -> None:
    assert any(dataclasses_of("numascape.placement"))
    assert broken_promises("numascape.placement") == []
