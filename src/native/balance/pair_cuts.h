// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "random.h"
#include "search_state.h"
#include "time_limit.h"

namespace numascape::balance {

// Improves a mapping by minimum cuts between pairs of neighbouring cores, as KaFFPa does (P.
// Sanders, C. Schulz, "Engineering multilevel graph partitioning algorithms", ESA 2011). The items
// near the border of two cores are divided anew between them, by a cut that costs less
// (minimum_cut.h). The cost includes the price of migrations. The mapping changes only if its cost
// falls and no bound is exceeded more than before. The first round tries all pairs. A later round
// tries a pair only if one of its cores changed in the round before. Ends after `rounds`, or when
// the time is over. Fast where items have few neighbours.
void cut_pairs(SearchState& state, Random& random, int rounds, const TimeLimit& limit);

}  // namespace numascape::balance
