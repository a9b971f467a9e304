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
#include <bit>
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

// Executions of one block, of which one is sampled and stands for all.
struct Stratum {
    uint64_t begin;  // of all executions of the block, the first one is 0
    uint64_t size;   // a power of two
};

// A stratum's largest size is 2^shift.
constexpr uint32_t kLeastStratumShift = 14;
constexpr uint32_t kMostStratumShift = 30;

// The stratum of that execution. Sizes double as executions do, since most blocks run seldom: the
// first executions are all sampled, then two of each power of two, and from 2^8 on strata have 128
// executions until these are a 32nd of their power of two. A sample at random in each stratum
// sees what a program does alternately, and counts what it does one after the other to within a
// stratum (stratified sampling: Cochran, Sampling Techniques, chapter 5).
constexpr Stratum stratum_of(uint64_t execution, uint32_t most_shift) {
    const uint32_t power =
        execution == 0 ? 0 : 63 - static_cast<uint32_t>(std::countl_zero(execution));
    const uint32_t wanted = power < 8 ? (power == 0 ? 0 : power - 1) : power < 12 ? 7 : power - 5;
    const uint32_t shift = wanted < most_shift ? wanted : most_shift;
    return {execution >> shift << shift, uint64_t{1} << shift};
}

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
