// SPDX-License-Identifier: Apache-2.0
//
// A thread's page counters: a 4 GiB sparse table, one 16-byte slot per page of the 2^40 window.
//
// Counts are kept negated. Counting is then one instruction, `sub qword [slot], n`, and its carry
// flag says for free that the slot was zero: this thread's first read (or write) of that page, the
// only moment at which first touch has to be looked at.
#pragma once

#include <atomic>
#include <cstdint>

#include "shard_format.h"

namespace numascape {

inline uint32_t window_page(uint64_t address) {
    return static_cast<uint32_t>((address & kWindowMask) >> kPageShift);
}

// 256 slots fill one page of the table: the granule in which a table takes memory and is walked.
inline constexpr uint32_t kSlotsPerGranule = 256;
inline constexpr uint32_t kGranules = static_cast<uint32_t>(kWindowPages / kSlotsPerGranule);

struct Slot {
    uint64_t negated_reads;
    uint64_t negated_writes;
    CountPair counts() const { return {0 - negated_reads, 0 - negated_writes}; }
    bool empty() const { return (negated_reads | negated_writes) == 0; }
};
static_assert(sizeof(Slot) == 16);

// Which granules have been written: reading a hole of a shared file mapping would fill it.
template <uint32_t kCount>
struct BasicGranuleSet {
    std::atomic<uint64_t> words[kCount / 64];

    void insert(uint32_t granule) {
        std::atomic<uint64_t>& word = words[granule / 64];
        const uint64_t bit = uint64_t{1} << (granule % 64);
        if ((word.load(std::memory_order_relaxed) & bit) == 0) {
            word.fetch_or(bit, std::memory_order_relaxed);
        }
    }
    bool contains(uint32_t granule) const {
        return (words[granule / 64].load(std::memory_order_relaxed) >> (granule % 64) & 1) != 0;
    }
};

inline constexpr uint32_t kCountersPerGranule = static_cast<uint32_t>(kPageBytes / 16);

using GranuleSet = BasicGranuleSet<kGranules>;  // of a table's slots; 128 KiB, itself sparse
using CounterSet = BasicGranuleSet<kCounters / kCountersPerGranule>;  // of its block counters

}  // namespace numascape
