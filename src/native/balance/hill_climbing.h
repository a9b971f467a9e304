// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "random.h"
#include "search_state.h"
#include "time_limit.h"

namespace numascape::balance {

// Local search that passes through worse mappings. It begins at an item with a neighbour on another
// node. It moves this item, and then, one after the other, the best of the items around it, even if
// a move makes the mapping worse. It keeps the best mapping that it has met, and continues from the
// next item. After C. M. Fiduccia and R. M. Mattheyses, "A linear-time heuristic for improving
// network partitions", DAC 1982, started at single items as in P. Sanders and C. Schulz,
// "Engineering multilevel graph partitioning algorithms", ESA 2011. Bounds hold at every step.
// `state` must be of a problem with one core per node (node_problem.h). Ends after `rounds`, when a
// round gains little, or when the time is over.
void climb(SearchState& state, Random& random, int rounds, const TimeLimit& limit);

}  // namespace numascape::balance
