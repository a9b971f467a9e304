// SPDX-License-Identifier: Apache-2.0
//
// The page counters of a thread: a sparse table of 4 GiB, with one 16-byte page counter per page of
// the 2^40 window.
//
// Counts are stored negated. One instruction counts: `sub qword [page counter], n`. Its carry flag
// says, at no cost, that the page counter was zero. This is the thread's first read (or write) of
// the page, and the only moment at which first touch must be checked.
#pragma once

#include <atomic>
#include <cstdint>

#include "shard_format.h"

namespace numascape {

// 256 page counters fill one page of the table. This granule is the unit in which a table takes
// memory and is scanned.
inline constexpr uint32_t kPageCountersPerGranule = 256;
inline constexpr uint32_t kGranules = static_cast<uint32_t>(kWindowPages / kPageCountersPerGranule);

struct PageCounter {
    uint64_t negated_reads;
    uint64_t negated_writes;
    CountPair counts() const { return {0 - negated_reads, 0 - negated_writes}; }
    bool empty() const { return (negated_reads | negated_writes) == 0; }
};
static_assert(sizeof(PageCounter) == 16);

// The granules that have been written, because reading a hole of a shared file mapping would
// allocate it.
template <uint32_t kCount>
struct BasicGranuleSet {
    std::atomic<uint64_t> words[kCount / 64];
    // The words that have a set bit. Most threads use few granules, but the words of all granules
    // are many pages.
    std::atomic<uint64_t> used_words[kCount / 64 / 64];

    void insert(uint32_t granule) {
        const uint32_t at = granule / 64;
        const uint64_t bit = uint64_t{1} << (granule % 64);
        if ((words[at].load(std::memory_order_relaxed) & bit) == 0) {
            used_words[at / 64].fetch_or(uint64_t{1} << (at % 64), std::memory_order_relaxed);
            words[at].fetch_or(bit, std::memory_order_release);
        }
    }
    template <typename Visit>
    void each(Visit visit) const {
        each_word([&](uint32_t at) {
            uint64_t bits = words[at].load(std::memory_order_relaxed);
            for (; bits != 0; bits &= bits - 1) {
                visit(at * 64 + static_cast<uint32_t>(__builtin_ctzll(bits)));
            }
        });
    }
    // Only while no thread inserts.
    void clear() {
        each_word([&](uint32_t at) { words[at].store(0, std::memory_order_relaxed); });
        for (std::atomic<uint64_t>& used : used_words) {
            used.store(0, std::memory_order_relaxed);
        }
    }
    bool contains(uint32_t granule) const {
        return (words[granule / 64].load(std::memory_order_relaxed) >> (granule % 64) & 1) != 0;
    }

  private:
    template <typename Visit>
    void each_word(Visit visit) const {
        for (uint32_t i = 0; i < kCount / 64 / 64; ++i) {
            uint64_t bits = used_words[i].load(std::memory_order_relaxed);
            for (; bits != 0; bits &= bits - 1) {
                visit(i * 64 + static_cast<uint32_t>(__builtin_ctzll(bits)));
            }
        }
    }
};

inline constexpr uint32_t kBlockCountersPerGranule = static_cast<uint32_t>(kPageBytes / 16);

using GranuleSet =
    BasicGranuleSet<kGranules>;  // of a table's page counters; 128 KiB, itself sparse
using CounterSet = BasicGranuleSet<kCounters / kBlockCountersPerGranule>;  // of its block counters

}  // namespace numascape
