// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "node_problem.h"
#include "search_state.h"
#include "time_limit.h"

namespace numascape::balance {

// Improves a mapping to cores. First it improves the nodes of tasks, by hill climbing on a
// hierarchy of groups of tasks. Then the tasks get cores of their nodes. All tasks of a group are
// on one node in the mapping. If migrations have a price, their present node is also the same, so
// that the group can go back as a whole. `goal` is that of the tasks on cores. If `annealing_steps`
// is above 0, nodes are annealed, too (node_annealing.h); this ignores prices of migrations.
Mapping improve_nodes(const NodeProblem& nodes, const Problem& problem, const Level& finest,
                      const Goal& goal, const Mapping& start, double annealing_steps,
                      std::uint64_t seed, const TimeLimit& limit);

}  // namespace numascape::balance
