// SPDX-License-Identifier: Apache-2.0
//
// The communication graph for METIS and Scotch: only movable tasks, with integer weights.
#pragma once

#include <cstdint>
#include <vector>

#include "problem.h"

namespace numascape::balance {

struct PartitionerGraph {
    std::vector<Task> tasks;            // the task of each vertex
    std::vector<std::int32_t> offsets;  // vertices and one more
    std::vector<std::int32_t> neighbour;
    std::vector<std::int32_t> load;    // at least 1, scaled so that the sum fits
    std::vector<std::int32_t> weight;  // of each edge; at least 1, scaled in the same way
};

// Throws BalanceError when the graph is too large for 32-bit partitioners.
PartitionerGraph partitioner_graph(const Problem& problem);

// Cores in the order of their nodes.
std::vector<Core> cores_by_node(const Problem& problem);

// The problem's mapping from the part of each vertex, and the core of each part; fixed tasks stay.
Mapping from_parts(const Problem& problem, const PartitionerGraph& graph,
                   const std::vector<std::int32_t>& parts, const std::vector<Core>& cores);

}  // namespace numascape::balance
