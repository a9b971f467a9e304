// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "random.h"
#include "search_state.h"
#include "time_limit.h"

namespace numascape::balance {

struct Cooling {
    double start;         // in units of the change by a typical move
    std::uint64_t steps;  // proposals
};

// Simulated annealing (Kirkpatrick, Gelatt, Vecchi, Science 220, 1983). A step moves an item to
// another core, or exchanges two items. A state beyond a bound on time or on communication gets a
// penalty, which grows during the search. The search may therefore pass through such states, but
// does not end in one. Bounds on migrations hold at every step. The final state is the last one,
// which may be worse than the first. With a time limit, it cools faster, and leaves a fifth of the
// time to the steps after it.
void anneal(SearchState& state, const Cooling& cooling, Random& random, const TimeLimit& limit);

}  // namespace numascape::balance
