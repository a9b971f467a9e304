// SPDX-License-Identifier: Apache-2.0
//
// The cache that one thread is taken to have, to tell which of its accesses would go to memory: one
// set-associative level, least recently used line out, write-allocate and write-back, as large as
// what the thread can have of the machine's caches (docs/record.md).
//
// In front of it is a *filter*: two tables, direct-mapped by a hash, of lines that are in the
// cache, and of those that are dirty in it. The inlined code looks there and goes on when it finds
// the line; so a line's place in the order of use is that of its last access that the filter did
// not catch. Otherwise it puts the line there, and among those that *wait* for the cache itself.
// They are taken in together: work on one set overlaps with the next one's, and the program's
// registers are saved once for all. A line that leaves the cache leaves the filter; until it does,
// it is taken to be present. So the cache seems larger by the lines that can wait, a 64th of it at
// most.
//
//   +kFilter      u32[2^kMostFilterBits]    lines present, by the low half of their number; 0 =
//   none +kDirtyLines  the same again            lines dirty
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "kept_vectors.h"
#include "shard_format.h"
#include "spin_lock.h"

namespace numascape {

struct CacheShape {
    uint32_t ways = 0;  // 0: no cache is modelled
    uint32_t set_bits = 0;
    uint32_t line_bits = 0;
    uint64_t lines() const { return uint64_t{ways} << set_bits; }
};

// What the tags' 32 bits and the filter's index allow.
inline constexpr uint32_t kMostWays = 64;
inline constexpr uint32_t kLeastLineBits = 5;
inline constexpr uint32_t kMostLineBits = 8;
inline constexpr uint32_t kLeastSetBits = 5;
inline constexpr uint32_t kMostSetBits = 24;
inline bool modelled_shape(const CacheShape& shape) {
    return shape.ways >= 1 && shape.ways <= kMostWays && shape.line_bits >= kLeastLineBits &&
           shape.line_bits <= kMostLineBits && shape.set_bits >= kLeastSetBits &&
           shape.set_bits <= kMostSetBits;
}

// A line's number is its address >> line_bits. That two lines with the same lower half, at least
// 128 GiB apart, are in use at a time is possible, and very rare.
using FilterEntry = uint32_t;
inline constexpr uint32_t kMostFilterBits = 12;
inline constexpr uint32_t kDirtyLines = sizeof(FilterEntry) << kMostFilterBits;

// The index is bits 20 and up of line * (2^20 - 2^10 - 2^8 + 1): in effect the line minus its upper
// parts. Arrays that lie a power of two apart do not share their entries, and walks of up to 1024
// lines, of any stride up to 700 lines, meet themselves in 0.5 % of them on average and 20 % at
// most; with multipliers spread at random there are strides where all do.
inline constexpr uint32_t kFilterHash = (1 << 20) - (1 << 10) - (1 << 8) + 1;
inline constexpr uint32_t kFilterShift = 20 - 2;  // entries have 4 bytes

// A line that waits is a word: its number, and a bit that says whether it is written.
using WaitingLine = uint64_t;
inline constexpr int kWrittenBit = 63;
inline constexpr uint32_t kMostWaiting = 512;

class CacheModel {
  public:
    // The memory that a model of this shape needs, zeroed and aligned to a page.
    static size_t bytes(const CacheShape& shape) {
        return kRowsOffset + (sizeof(uint32_t) * row_words(shape) << shape.set_bits);
    }
    // `wide_vectors`: it may use those of AVX2.
    static CacheModel* create(void* memory, const CacheShape& shape, bool wide_vectors);
    // Whether there are such here. Asks the processor, which takes microseconds.
    static bool wide_vectors_here();

    FilterEntry* filter() { return reinterpret_cast<FilterEntry*>(at(kFilterOffset)); }
    // The byte offset of a line's entry is (low half of line * kFilterHash >> kFilterShift) & mask.
    static uint32_t filter_mask(const CacheShape& shape) {
        return ((1u << filter_bits(shape)) - 1) << 2;
    }
    [[gnu::always_inline]] static uint32_t filter_offset(uint64_t line, uint32_t mask) {
        return (static_cast<uint32_t>(line) * kFilterHash >> kFilterShift) & mask;
    }

    // Lines wait in memory aligned to its own size, these bytes; who fills them is to take them in.
    static uint32_t waiting_bytes(const CacheShape& shape);
    // From now on `word` holds the address for the next line that waits, of the calling thread,
    // whose cache this is; until then there are none.
    void publish_next(const void** word);
    // The calling thread, whose cache this is, touches the line. True: take_in is due.
    bool touch(uint64_t line, bool write);

    static constexpr uint32_t kFetched = 1;  // the line was not in the cache
    static constexpr uint32_t kDirtied = 2;  // it is to be written back, and was not before
    static constexpr uint32_t kTrafficBits = 2;
    struct Traffic {
        uint32_t word;
        uint32_t page() const { return word >> kTrafficBits; }  // of the window
        bool has(uint32_t what) const { return (word & what) != 0; }
    };
    // Where a model's parts begin.
    static constexpr size_t kKeptOffset = 1024;
    static constexpr size_t kWaitingOffset = kPageBytes;
    static constexpr size_t kKeptBytes = kWaitingOffset - kKeptOffset;
    static constexpr size_t kTrafficOffset = kWaitingOffset + kMostWaiting * sizeof(WaitingLine);
    static constexpr size_t kFilterOffset = kTrafficOffset + kMostWaiting * sizeof(Traffic);
    static constexpr size_t kRowsOffset = kFilterOffset + 2 * size_t{kDirtyLines};

    // Takes in the lines that wait, on any thread, and gives the visitor those with traffic: where
    // they are, and how many. `own`: on the thread whose cache it is.
    template <typename Visit>
    void take_in(bool own, Visit visit) {
        taking_.lock();
        take_in_locked(own, visit);
    }
    // The same when other threads may have been stopped for good, in the middle of it.
    template <typename Visit>
    void take_in_at_end(bool own, Visit visit) {
        if (taking_.lock_within(kAttemptsAtEnd)) {
            take_in_locked(own, visit);
        }
    }
    // For the child of a fork: the lines that wait belong to its parent.
    void take_in_after_fork() {
        taking_.reset();
        take_in(true, [](const Traffic*, uint32_t) {});
    }

  private:
    template <typename Visit>
    void take_in_locked(bool own, Visit visit) {
        const uint32_t count = take_in_waiting_keeping_vectors(own);
        visit(reinterpret_cast<const Traffic*>(at(kTrafficOffset)), count);
        taking_.unlock();
    }
    static constexpr uint32_t kLeastWideWords = 8;

    // Sets begin at multiples of a power of two, so that one of the usual sizes is one line of the
    // real cache; and at multiples of vectors.
    static uint32_t row_words(const CacheShape& shape) {
        uint32_t words = 4;
        while (words < shape.ways) {
            words *= 2;
        }
        return words;
    }
    // Far fewer lines than the cache has: it should see when lines are used.
    static uint32_t filter_bits(const CacheShape& shape) {
        uint32_t bits = kMostFilterBits;
        while (bits > 1 && (uint64_t{8} << bits) > shape.lines()) {
            --bits;
        }
        return bits;
    }
    char* at(size_t offset) { return reinterpret_cast<char*>(this) + offset; }
    FilterEntry* entry_of(uint64_t line) {
        return reinterpret_cast<FilterEntry*>(at(kFilterOffset) +
                                              filter_offset(line, filter_mask_));
    }
    WaitingLine* waiting() { return reinterpret_cast<WaitingLine*>(at(kWaitingOffset)); }
    // Returns how many of the lines have traffic.
    uint32_t take_in_waiting_keeping_vectors(bool own) {
        if (wide_) {
            const KeptWideVectors kept(at(kKeptOffset));
            return take_in_waiting(own);
        }
        const KeptVectors kept;
        return take_in_waiting(own);
    }
    uint32_t take_in_waiting(bool own);
    uint32_t take_in(const WaitingLine* line, const WaitingLine* end);

    CacheShape shape_;
    uint32_t filter_mask_ = 0;
    bool wide_ = false;
    SpinLock taking_;
    uint32_t taken_ = 0;           // how many of the lines that wait were taken in before
    const void** next_ = nullptr;  // see publish_next
};

}  // namespace numascape
