// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "random.h"
#include "search_state.h"
#include "time_limit.h"

namespace numascape::balance {

// Moves items off the cores that take too long, those first whose move costs least per second, each
// to the best core that has room; where none has, to one that stays shorter than its own was. What
// is left then, exchanges of two items take off.
void shorten_cores(SearchState& state, const TimeLimit& limit);

// Passes over all items, each moving to the core where it lowers the cost most within the caps,
// until nothing changes, so many passes are done or time is over.
void improve(SearchState& state, Random& random, int passes, const TimeLimit& limit);

}  // namespace numascape::balance
