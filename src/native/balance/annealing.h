// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "random.h"
#include "search_state.h"
#include "time_limit.h"

namespace numascape::balance {

struct Cooling {
    double start;         // in units of what moving a typical item changes
    std::uint64_t steps;  // proposals
};

// Simulated annealing (Kirkpatrick, Gelatt, Vecchi, Science 220, 1983) over moves of an item to
// another core and exchanges of two items. Exceeding a cap on time or communication
// costs more and more, so that states beyond it are passages and, at the end, left behind; caps on
// migrations hold at every step. The state ends where it cooled down, which
// may be worse than where it began. With a limit it cools down faster, so as to leave a fifth of
// the time to what comes after it.
void anneal(SearchState& state, const Cooling& cooling, Random& random, const TimeLimit& limit);

}  // namespace numascape::balance
