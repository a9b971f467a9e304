// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "node_problem.h"
#include "search_state.h"
#include "time_limit.h"

namespace numascape::balance {

// Improves a mapping to cores. First it improves the nodes of tasks, by hill climbing on a
// hierarchy of groups of tasks, and, where tasks have few neighbours, by minimum cuts. Then the
// tasks get cores of their nodes. All tasks of a group are on one node in the mapping. If
// migrations have a price, their present node is also the same, so that the group can go back as a
// whole.
class NodesFirst {
  public:
    struct Means {
        // Above 0: nodes are annealed, too (node_annealing.h); this ignores prices of migrations.
        double annealing_steps = 0.0;
        bool cuts = false;  // minimum cuts, where tasks have few neighbours
    };

    // The arguments must outlive this object.
    NodesFirst(const NodeProblem& nodes, const Problem& problem, const Level& finest,
               const TimeLimit& limit)
        : nodes_(nodes), problem_(problem), finest_(finest), limit_(limit) {}

    // `goal` is that of the tasks on cores.
    Mapping improve(const Mapping& start, const Goal& goal, const Means& means,
                    std::uint64_t seed) const;

  private:
    const NodeProblem& nodes_;
    const Problem& problem_;
    const Level& finest_;
    const TimeLimit& limit_;
};

}  // namespace numascape::balance
