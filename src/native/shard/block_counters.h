// SPDX-License-Identifier: Apache-2.0
//
// How often each basic block ran, per table, and when one of its executions is sampled.
//
// The counter counts down. A block begins with `sub qword [counter], 1`, and the carry flag says
// that a sample is due. Unused memory is zero, so the first execution sets the carry. A sample
// loads the counter with the number of executions until the next sample. At every moment, also
// between the carry and the load,
//
//   executions = loaded - left        (modulo 2^64)
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "page_counters.h"

namespace numascape {

struct BlockCounter {
    uint64_t left;
    uint64_t loaded;  // sum of all loads, and of the executions that were sampled
    uint64_t executions() const { return loaded - left; }
};
static_assert(sizeof(BlockCounter) == 16);

// Counts an access whose number per execution of the block is not constant.
struct OwnCounter {
    uint64_t reads;
    uint64_t writes;
};
static_assert(sizeof(OwnCounter) == sizeof(BlockCounter));

// Executions of one block, of which one is sampled and represents all.
struct Stratum {
    uint64_t begin;  // of all executions of the block, the first one is 0
    uint64_t size;   // a power of two
};

// Bounds of the shift that limits strata: a stratum has at most 2^shift executions.
constexpr uint32_t kMinStratumShift = 14;
constexpr uint32_t kMaxStratumShift = 30;

// The stratum of that execution. The sizes of strata double as executions do, because most blocks
// run rarely: the first executions are all sampled, then two of each power of two. From 2^8 on,
// strata have 128 executions. From 2^12 on, a stratum is 1/32 of its power of two. Samples are
// random within their strata, so a program that alternates between two pages does not bias them.
// The count of pages that are used in sequence is wrong by at most one stratum (stratified
// sampling: Cochran, Sampling Techniques, chapter 5).
constexpr Stratum stratum_of(uint64_t execution, uint32_t max_shift) {
    const uint32_t power =
        execution == 0 ? 0 : 63 - static_cast<uint32_t>(std::countl_zero(execution));
    const uint32_t wanted = power < 8 ? (power == 0 ? 0 : power - 1) : power < 12 ? 7 : power - 5;
    const uint32_t shift = wanted < max_shift ? wanted : max_shift;
    return {execution >> shift << shift, uint64_t{1} << shift};
}

// Distance of a counter from its table's first page counter, in bytes; negative.
inline int counter_offset(uint32_t number) {
    return -16 * static_cast<int>(number + 1);
}

template <typename Counter>
Counter& counter_at(PageCounter* table, uint32_t number) {
    return *reinterpret_cast<Counter*>(reinterpret_cast<char*>(table) + counter_offset(number));
}

inline void* table_memory(PageCounter* table) {
    return reinterpret_cast<char*>(table) - kCountersBytes;
}

inline PageCounter* table_in(void* memory) {
    return reinterpret_cast<PageCounter*>(static_cast<char*>(memory) + kCountersBytes);
}

}  // namespace numascape
