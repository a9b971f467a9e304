// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "random.h"
#include "search_state.h"
#include "time_limit.h"

namespace numascape::balance {

// Simulated annealing of a mapping to nodes, for communication alone, in at most `steps` steps for
// each item. A step draws an item on a border between nodes, and the node of one of its neighbours.
// A table with the cost of each item on each node is kept up to date. Nearly all steps are refused;
// with the table, such a step takes the same short time for items with many neighbours. The
// annealing never exceeds the bound on time or the memory of nodes. Does nothing if messages cost
// more in one direction, or if the table would be large. `state` must be of a problem with one core
// per node (node_problem.h). The last mapping may be worse than the first.
void anneal_communication(SearchState& state, double steps, Random& random, const TimeLimit& limit);

}  // namespace numascape::balance
