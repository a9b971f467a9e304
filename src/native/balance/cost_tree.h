// SPDX-License-Identifier: Apache-2.0
//
// The levels of a machine, derived from the costs of messages between its nodes: places whose
// messages cost about the same are a group, and groups are in larger groups. With costs by level
// (docs/balance.md), these are the caches, NUMA nodes and hosts.
#pragma once

#include <vector>

#include "problem.h"

namespace numascape::balance {

// The finest level is always that of cores. On each level above it, a group is a set of nodes of
// the problem.
class CostTree {
  public:
    explicit CostTree(const Problem& problem);

    struct Level {
        std::vector<std::uint32_t> group_of_core;
        // For each group, its group on the level above (0 on the first level), and its number among
        // the children of that group.
        std::vector<std::uint32_t> parent, place;
        // The mean cost of messages between different groups with the same parent.
        double cost = 1.0;
        // Whether all of these costs are the same.
        bool one_cost = true;
        std::size_t groups() const { return parent.size(); }
    };
    // The levels from the coarsest. On the last one, each core is a group.
    const std::vector<Level>& levels() const { return levels_; }
    // The cores such that those of each group follow each other, in the order of groups.
    std::vector<Core> cores() const;
    // Whether all groups of a level have the same number of children, on each level.
    bool regular() const;
    // Whether all costs between the children of a group are the same, on each level.
    bool one_cost_per_level() const;

  private:
    void add_level(const Problem& problem, const std::vector<std::uint32_t>& group_of_core);

    std::vector<Level> levels_;
};

}  // namespace numascape::balance
