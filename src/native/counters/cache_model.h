// SPDX-License-Identifier: Apache-2.0
//
// The cache that one thread is taken to have, to tell which of its accesses would go to memory: one
// set-associative level, least recently used line out, write-allocate and write-back, as large as
// what the thread can have of the machine's caches (docs/record.md).
//
// In front of it is a *filter*: two tables, direct-mapped by a hash, of lines that are in the
// cache, and of those that are dirty in it. The inlined code looks there and goes on when it finds
// the line; so a line's place in the order of use is that of its last access that the filter did
// not catch. A line that leaves the cache leaves the filter.
//
//   +0      u32[2^kMostFilterBits]    lines present, by the low half of their number; 0 = none
//   +kDirtyLines  the same again      lines dirty
#pragma once

#include <cstddef>
#include <cstdint>

#include "shard_format.h"

namespace numascape {

struct ThreadRecorder;

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

class CacheModel {
  public:
    // The memory that a model of this shape needs, zeroed and aligned to a page.
    static size_t bytes(const CacheShape& shape) {
        return kFilterOffset + 2 * size_t{kDirtyLines} +
               (sizeof(uint32_t) * row_words(shape) << shape.set_bits);
    }
    static CacheModel* create(void* memory, const CacheShape& shape, ThreadRecorder* recorder) {
        auto* model = static_cast<CacheModel*>(memory);
        *model = {};
        model->shape_ = shape;
        model->recorder_ = recorder;
        model->row_words_ = row_words(shape);
        model->filter_mask_ = filter_mask(shape);
        return model;
    }

    FilterEntry* filter() {
        return reinterpret_cast<FilterEntry*>(reinterpret_cast<char*>(this) + kFilterOffset);
    }
    // The byte offset of a line's entry is (low half of line * kFilterHash >> kFilterShift) & mask.
    static uint32_t filter_mask(const CacheShape& shape) {
        return ((1u << filter_bits(shape)) - 1) << 2;
    }
    static uint32_t filter_offset(uint64_t line, uint32_t mask) {
        return (static_cast<uint32_t>(line) * kFilterHash >> kFilterShift) & mask;
    }
    static CacheModel& of(FilterEntry* filter) {
        return *reinterpret_cast<CacheModel*>(reinterpret_cast<char*>(filter) - kFilterOffset);
    }
    ThreadRecorder* recorder() const { return recorder_; }  // whose cache it is
    uint32_t line_bits() const { return shape_.line_bits; }

    struct Traffic {
        bool fetched;  // the line was not in the cache
        bool dirtied;  // it is to be written back, and was not before
    };
    // Inlined always: a call would have its caller save all registers (traffic.cpp).
    [[gnu::always_inline]] Traffic touch(uint64_t line, bool write) {
        const auto name = static_cast<FilterEntry>(line);
        FilterEntry* entry = entry_of(line);
        FilterEntry* dirty = entry + (1u << kMostFilterBits);
        if ((write ? *dirty : *entry) == name) {
            return {false, false};
        }
        const uint64_t known = line & (kWindowMask >> shape_.line_bits);
        const auto set = static_cast<uint32_t>(known) & ((1u << shape_.set_bits) - 1);
        const uint32_t tag = static_cast<uint32_t>(known >> shape_.set_bits) << 2 | kPresent;
        uint32_t* const row = rows() + size_t{set} * row_words_;
        const Moved moved = move_to_front(row, tag);
        const uint32_t found = moved.found;
        const bool was_dirty = (found & kDirty) != 0;
        *row = tag | (write || was_dirty ? kDirty : 0);
        if (moved.out != 0) {
            forget(uint64_t{moved.out >> 2} << shape_.set_bits | set);
        }
        *entry = name;
        *dirty = write || was_dirty ? name : 0;
        return {found == 0, write && !was_dirty};
    }

  private:
    static constexpr uint32_t kPresent = 1;
    static constexpr uint32_t kDirty = 2;
    static constexpr size_t kFilterOffset = 64;

    struct Moved {
        uint32_t found;  // the line's tag as it was there, 0 = it was not
        uint32_t out;    // the tag that left the set, 0 = none
    };
    // One pass puts the line first and moves the others down, to where it was or out. Two ways at a
    // time: the pass is most of what a miss costs.
    [[gnu::always_inline]] Moved move_to_front(uint32_t* row, uint32_t tag) const {
        uint32_t moved = tag;
        for (uint32_t* const end = row + (shape_.ways & ~1u); row != end; row += 2) {
            uint64_t both = 0;
            __builtin_memcpy(&both, row, sizeof both);
            const auto low = static_cast<uint32_t>(both);
            const auto high = static_cast<uint32_t>(both >> 32);
            if ((low & ~kDirty) == tag) {
                *row = moved;
                return {low, 0};
            }
            both = both << 32 | moved;
            __builtin_memcpy(row, &both, sizeof both);
            if ((high & ~kDirty) == tag) {
                return {high, 0};
            }
            moved = high;
        }
        if (shape_.ways % 2 != 0) {
            const uint32_t last = *row;
            *row = moved;
            if ((last & ~kDirty) == tag) {
                return {last, 0};
            }
            moved = last;
        }
        return {0, moved};
    }

    // Sets begin at multiples of a power of two, so that one of the usual sizes is one line of the
    // real cache.
    static uint32_t row_words(const CacheShape& shape) {
        uint32_t words = 1;
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
    [[gnu::always_inline]] FilterEntry* entry_of(uint64_t line) {
        return reinterpret_cast<FilterEntry*>(reinterpret_cast<char*>(filter()) +
                                              filter_offset(line, filter_mask_));
    }
    uint32_t* rows() { return filter() + (2u << kMostFilterBits); }
    [[gnu::always_inline]] void forget(uint64_t line) {
        FilterEntry* entry = entry_of(line);
        if (*entry == static_cast<FilterEntry>(line)) {
            *entry = 0;
            entry[1u << kMostFilterBits] = 0;
        }
    }

    CacheShape shape_;
    ThreadRecorder* recorder_ = nullptr;
    uint32_t row_words_ = 0;
    uint32_t filter_mask_ = 0;
};

}  // namespace numascape
