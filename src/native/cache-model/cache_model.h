// SPDX-License-Identifier: Apache-2.0
//
// The modelled cache of one thread, which determines the accesses that would go to memory. It has
// one set-associative level with least-recently-used replacement, write-allocate and write-back.
// Its size is the thread's share of the caches of the machine (docs/record.md).
//
// In front of it is a *filter*: two direct-mapped hash tables, of lines that are in the cache, and
// of lines that are dirty in it. The inlined code looks up the filter first. If the line is there,
// the code continues; the order of use therefore contains only accesses that the filter missed. If
// not, the code puts the line into the filter and into a queue of lines that *wait* for the cache.
// The cache processes all lines of the queue together: work on one set then overlaps with work on
// the next, and the program's registers are saved only once. A line that leaves the cache also
// leaves the filter. Until then it counts as present. So waiting lines make the cache seem larger,
// by at most 1/64.
//
//   +kFilter      u32[2^kMaxFilterBits]    present lines: the low half of their number; 0: none
//   +kDirtyLines  the same again            dirty lines
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "kept_vectors.h"
#include "pages.h"
#include "spin_lock.h"

namespace numascape {

struct CacheShape {
    uint32_t ways = 0;  // 0: no cache is modelled
    uint32_t set_bits = 0;
    uint32_t line_bits = 0;
    uint64_t lines() const { return uint64_t{ways} << set_bits; }
};

// The limits of 32-bit tags and of the filter's index.
inline constexpr uint32_t kMaxWays = 64;
inline constexpr uint32_t kMinLineBits = 5;
inline constexpr uint32_t kMaxLineBits = 8;
inline constexpr uint32_t kMinSetBits = 5;
inline constexpr uint32_t kMaxSetBits = 24;
inline bool modelled_shape(const CacheShape& shape) {
    return shape.ways >= 1 && shape.ways <= kMaxWays && shape.line_bits >= kMinLineBits &&
           shape.line_bits <= kMaxLineBits && shape.set_bits >= kMinSetBits &&
           shape.set_bits <= kMaxSetBits;
}

// A line's number is its address >> line_bits. Two lines with the same lower half are at least 128
// GiB apart; it is very rare that both are in use.
using FilterEntry = uint32_t;
inline constexpr uint32_t kMaxFilterBits = 12;
inline constexpr uint32_t kDirtyLines = sizeof(FilterEntry) << kMaxFilterBits;

// The index is bits 20 and up of line * (2^20 - 2^10 - 2^8 + 1): in effect the line minus its upper
// parts. Arrays whose distance is a power of two do not share entries. If a program walks over up
// to 1024 lines with a stride of up to 700 lines, 0.5 % of the lines share an entry on average, and
// 20 % at most. With random multipliers, there are strides where all lines share entries.
inline constexpr uint32_t kFilterHash = (1 << 20) - (1 << 10) - (1 << 8) + 1;
inline constexpr uint32_t kFilterShift = 20 - 2;  // entries have 4 bytes

// A line that waits is a word: its number, and a bit that says whether it is written.
using WaitingLine = uint64_t;
inline constexpr int kWrittenBit = 63;
inline constexpr uint32_t kMaxWaiting = 512;

class CacheModel {
  public:
    // The memory that a model of this shape needs, zeroed and aligned to a page.
    static size_t bytes(const CacheShape& shape) {
        return kRowsOffset + (sizeof(uint32_t) * row_words(shape) << shape.set_bits);
    }
    // `wide_vectors`: the model may use wide vectors.
    static CacheModel* create(void* memory, const CacheShape& shape, bool wide_vectors);
    // Whether this processor has wide vectors. It takes microseconds to ask the processor.
    static bool wide_vectors_here();

    FilterEntry* filter() { return reinterpret_cast<FilterEntry*>(at(kFilterOffset)); }
    // The byte offset of a line's entry is (low half of line * kFilterHash >> kFilterShift) & mask.
    static uint32_t filter_mask(const CacheShape& shape) {
        return ((1u << filter_bits(shape)) - 1) << 2;
    }
    [[gnu::always_inline]] static uint32_t filter_offset(uint64_t line, uint32_t mask) {
        return (static_cast<uint32_t>(line) * kFilterHash >> kFilterShift) & mask;
    }

    // The queue of waiting lines: this many bytes of memory, aligned to their size. The thread that
    // fills it must call drain.
    static uint32_t waiting_bytes(const CacheShape& shape);
    // From now on `word` contains the address for the next waiting line of the calling thread,
    // which owns this cache. Before this, no line waits.
    void publish_next(const void** word);
    // The calling thread, which owns this cache, touches the line. True: drain must be called.
    bool touch(uint64_t line, bool write);

    // Other threads may call these functions of the filter (shared_lines.h). `dirty`: as a dirty
    // line.
    bool in_filter(uint64_t line, bool dirty) {
        return entry_at(line, dirty).load(std::memory_order_relaxed) ==
               static_cast<FilterEntry>(line);
    }
    void take_from_filter(uint64_t line, bool dirty) {
        if (in_filter(line, dirty)) {
            entry_at(line, dirty).store(0, std::memory_order_relaxed);
        }
    }
    // `lines` lines from number `first` on.
    void take_range_from_filter(uint64_t first, uint64_t lines);

    static constexpr uint32_t kFetched = 1;  // the line was not in the cache
    static constexpr uint32_t kDirtied = 2;  // the line was clean, and is dirty now
    static constexpr uint32_t kTrafficBits = 2;
    struct Traffic {
        uint32_t word;
        uint32_t page() const { return word >> kTrafficBits; }  // of the window
        bool has(uint32_t what) const { return (word & what) != 0; }
    };
    // The offsets of the parts of a model.
    static constexpr size_t kKeptOffset = 1024;
    static constexpr size_t kWaitingOffset = kPageBytes;
    static constexpr size_t kKeptBytes = kWaitingOffset - kKeptOffset;
    static constexpr size_t kTrafficOffset = kWaitingOffset + kMaxWaiting * sizeof(WaitingLine);
    static constexpr size_t kFilterOffset = kTrafficOffset + kMaxWaiting * sizeof(Traffic);
    static constexpr size_t kRowsOffset = kFilterOffset + 2 * size_t{kDirtyLines};

    // Processes the waiting lines; any thread may call it. It passes the lines with traffic to the
    // visitor, as an array and its length. `own`: the calling thread owns the cache.
    template <typename Visit>
    void drain(bool own, Visit visit) {
        taking_.lock();
        drain_locked(own, visit);
    }
    // The same if other threads may have been stopped forever in this function.
    template <typename Visit>
    void drain_at_end(bool own, Visit visit) {
        if (taking_.lock_within(kAttemptsAtEnd)) {
            drain_locked(own, visit);
        }
    }
    // For the child of a fork: the lines that wait belong to its parent.
    void drain_after_fork() {
        taking_.reset();
        drain(true, [](const Traffic*, uint32_t) {});
    }

  private:
    template <typename Visit>
    void drain_locked(bool own, Visit visit) {
        const uint32_t count = process_waiting_keeping_vectors(own);
        visit(reinterpret_cast<const Traffic*>(at(kTrafficOffset)), count);
        taking_.unlock();
    }
    static constexpr uint32_t kMinWideWords = 8;

    // The size of a set is a power of two, so that a set of a usual size is one line of the real
    // cache, and sets begin at multiples of vectors.
    static uint32_t row_words(const CacheShape& shape) {
        uint32_t words = 4;
        while (words < shape.ways) {
            words *= 2;
        }
        return words;
    }
    // The filter has far fewer lines than the cache, so that the cache sees most uses of lines.
    static uint32_t filter_bits(const CacheShape& shape) {
        uint32_t bits = kMaxFilterBits;
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
    std::atomic_ref<FilterEntry> entry_at(uint64_t line, bool dirty) {
        return std::atomic_ref<FilterEntry>(*(entry_of(line) + (dirty ? 1u << kMaxFilterBits : 0)));
    }
    WaitingLine* waiting() { return reinterpret_cast<WaitingLine*>(at(kWaitingOffset)); }
    // Returns how many of the lines have traffic.
    uint32_t process_waiting_keeping_vectors(bool own) {
        if (wide_) {
            const KeptWideVectors kept(at(kKeptOffset));
            return process_waiting(own);
        }
        const KeptVectors kept;
        return process_waiting(own);
    }
    uint32_t process_waiting(bool own);
    uint32_t process(const WaitingLine* line, const WaitingLine* end);

    CacheShape shape_;
    uint32_t filter_mask_ = 0;
    bool wide_ = false;
    SpinLock taking_;
    uint32_t taken_ = 0;           // how many of the waiting lines were processed before
    const void** next_ = nullptr;  // see publish_next
};

}  // namespace numascape
