// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "algorithms.h"
#include "time_limit.h"

namespace numascape::balance {

// A mapping of few parts (the nodes of node_problem.h) by METIS' partitions of groups of tasks,
// with the least communication of many. Tasks are grouped in several ways, and METIS divides each
// of these few groups several times. The best partition of each way is refined for smaller groups.
// The best of these are refined for single tasks. Migrations do not count. For graphs in which
// tasks have few neighbours: minimum cuts refine it (pair_cuts.h). `options.effort` multiplies the
// number of ways.
Mapping partition_groups(const Problem& problem, const Options& options, const TimeLimit& limit);

// Whether there are enough tasks for it.
bool can_partition_groups(std::size_t tasks, std::size_t parts);

}  // namespace numascape::balance
