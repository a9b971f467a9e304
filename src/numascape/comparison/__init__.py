# SPDX-License-Identifier: Apache-2.0
"""Two recorded runs side by side: what a change did to each structure, and to the run."""

from numascape.comparison.change import Comparison, StructureChange, compare_traces
from numascape.comparison.conditions import Condition, parse_condition

__all__ = ["Comparison", "Condition", "StructureChange", "compare_traces", "parse_condition"]
