// SPDX-License-Identifier: Apache-2.0
//
// The mappings that the incumbent-aware search can start from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "node_problem.h"
#include "search_state.h"
#include "time_limit.h"

namespace numascape::balance {

// The present mapping; our own multilevel search that ignores it; METIS or Scotch onto nodes, and
// then onto the cores of each node.
inline constexpr std::string_view kStartNow = "now", kStartScratch = "scratch",
                                  kStartTwoLevel = "twolevel",
                                  kStartTwoLevelScotch = "twolevel-scotch";
// An algorithm that is sometimes also chosen without being named.
inline constexpr std::string_view kStartScotch = "scotch";

// Throws BalanceError unless each name is one of these or of another algorithm.
void check_starts(const std::vector<std::string>& names);

// The starts that `options` names; without names, the present mapping, and partitions if a
// migration could save its price. `now` is the search's state with the present mapping.
std::vector<std::string_view> chosen_starts(const SearchState& now, const Options& options,
                                            bool small);

// The mapping of any of these names but "scratch", relabelled for the fewest migrations. Two-level
// partitions aim at the imbalance that the search must not exceed.
Mapping start_mapping(std::string_view name, const NodeProblem& nodes, const Problem& problem,
                      const Options& options, const TimeLimit& limit = TimeLimit());

// Whether the mapping of this start is already refined for the least communication.
bool is_refined(std::string_view name, const Problem& problem);

}  // namespace numascape::balance
