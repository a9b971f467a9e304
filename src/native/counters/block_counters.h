// SPDX-License-Identifier: Apache-2.0
//
// How often each basic block ran, per table, and when one of its executions is sampled.
//
// The counter counts down: `sub qword [counter], 1` is all that a block's start costs, and its
// carry says that a sample is due. Memory that was never used is zero, so the very first execution
// carries. A sample loads the counter with the executions until the next one; at every moment,
// between the carry and the load too,
//
//   executions = loaded - left        (modulo 2^64)
#pragma once

#include <atomic>
#include <cstdint>

#include "page_table.h"

namespace numascape {

struct BlockCounter {
    uint64_t left;
    uint64_t loaded;  // sum of all loads, and of the executions that were sampled
    uint64_t executions() const { return loaded - left; }
};
static_assert(sizeof(BlockCounter) == 16);

// A counter of an access that one block's execution does any number of times.
struct OwnCounter {
    uint64_t reads;
    uint64_t writes;
};
static_assert(sizeof(OwnCounter) == sizeof(BlockCounter));

// Distance of a counter from its table's first slot, in bytes; negative.
inline int counter_offset(uint32_t number) {
    return -16 * static_cast<int>(number + 1);
}

template <typename Counter>
Counter& counter_at(Slot* table, uint32_t number) {
    return *reinterpret_cast<Counter*>(reinterpret_cast<char*>(table) + counter_offset(number));
}

inline void* table_memory(Slot* table) {
    return reinterpret_cast<char*>(table) - kCountersBytes;
}

inline Slot* table_in(void* memory) {
    return reinterpret_cast<Slot*>(static_cast<char*>(memory) + kCountersBytes);
}

}  // namespace numascape
