// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "random.h"
#include "search_state.h"
#include "time_limit.h"

namespace numascape::balance {

// Moves items away from cores that take too long. Items whose move costs least per second come
// first. Each goes to the best core with room. If no core has room, it goes to a core that then
// takes less time than the item's own core did. After that, exchanges of two items reduce the rest.
void shorten_cores(SearchState& state, const TimeLimit& limit);

// Moves items away from nodes whose memory is exceeded. Then moves tasks, or all tasks of a core
// that share a block, from cores whose memory is exceeded to cores with room for them. The memory
// of cores is known for single tasks only (the finest level).
void mend_memory(SearchState& state, const TimeLimit& limit);

// Passes over all items. Each item moves to the core that lowers the cost most within the bounds.
// Ends when nothing changes, after the given number of passes, or when the time is over.
void improve(SearchState& state, Random& random, int passes, const TimeLimit& limit);

}  // namespace numascape::balance
