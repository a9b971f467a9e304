// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "node_problem.h"
#include "search_state.h"
#include "time_limit.h"

namespace numascape::balance {

// Improves a mapping to cores: first the tasks' nodes, by hill climbing on a hierarchy of groups
// of tasks; then the tasks get cores of their nodes. Groups contain only tasks that the mapping has
// on one node and, if migrations have a price, whose present node is the same, so that a group can
// also go back as a whole. `goal` is that of the tasks on cores. If `annealing_steps` is
// above 0, nodes are annealed, too (node_annealing.h), which ignores prices of migrations.
Mapping improve_nodes(const NodeProblem& nodes, const Problem& problem, const Level& finest,
                      const Goal& goal, const Mapping& start, double annealing_steps,
                      std::uint64_t seed, const TimeLimit& limit);

}  // namespace numascape::balance
