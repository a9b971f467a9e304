// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "random.h"
#include "search_state.h"
#include "time_limit.h"

namespace numascape::balance {

// Local search that passes through worse mappings: from an item with a neighbour on another node,
// it moves this item and then the best of those around it, one after the other, also where a move
// costs. It keeps the best mapping on this way and continues from the next item. After C. M.
// Fiduccia and R. M. Mattheyses, "A linear-time heuristic for improving network partitions", DAC
// 1982, started at single items as in P. Sanders and C. Schulz, "Engineering multilevel graph
// partitioning algorithms", ESA 2011. Bounds hold at every step. `state` must be of a problem with
// one core per node (node_problem.h). Ends after `rounds`, when a round gains little, or when the
// time is over.
void climb(SearchState& state, Random& random, int rounds, const TimeLimit& limit);

}  // namespace numascape::balance
