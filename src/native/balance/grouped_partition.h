// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "algorithms.h"
#include "time_limit.h"

namespace numascape::balance {

// Maps tasks to few parts (the nodes of node_problem.h). METIS partitions groups of tasks, and the
// partition with the least communication is used. Tasks are grouped in several ways. For each way,
// METIS makes several partitions. The best partition of each way is refined for smaller groups. The
// best of these are refined for single tasks. Migrations do not count. It is for graphs in which
// tasks have few neighbours, because minimum cuts refine the partitions (pair_cuts.h).
// `options.effort` multiplies the number of ways.
Mapping partition_groups(const Problem& problem, const Options& options, const TimeLimit& limit);

// Whether there are enough tasks for it.
bool can_partition_groups(std::size_t tasks, std::size_t parts);

}  // namespace numascape::balance
