// SPDX-License-Identifier: Apache-2.0
//
// How a CacheModel takes in lines, whatever vectors hold its sets: compiled once for each kind.
#pragma once

#include <cstdint>

#include "cache_model.h"

namespace numascape {

// Of a tag.
inline constexpr uint32_t kPresent = 1;
inline constexpr uint32_t kDirty = CacheModel::kDirtied;

// Whether the line of a tag is another one's: all bits, or none.
inline uint32_t other_lines(uint32_t tag, uint32_t there) {
    return ((tag ^ there) & ~kDirty) != 0 ? ~0u : 0;
}

// The lines of [line, end) taken in, in a model of this shape; returns how many have traffic.
//
// A set's tags are in the order of use, in a row of Row::kWords. Row::move_to_front(row, last way,
// tag) puts the tag first, dirty if it says so or was, and moves those down that were before it, or
// all. It returns the tag that was where the last one moved to: the same, or what left the set. It
// has no branches: whether a line is in its set, and where, cannot be predicted.
//
// Of some lines at a time, each step is done for all of them: so the compiler can use vectors for
// the other steps too, and the rows come from the second level meanwhile.
template <class Row>
uint32_t simulate(char* model, const CacheShape& of, const WaitingLine* line,
                  const WaitingLine* end) {
    constexpr uint32_t kMost = 64;
    constexpr uint32_t kTrafficMask = (1u << CacheModel::kTrafficBits) - 1;
    struct alignas(32) Words {
        uint32_t at[kMost];
    };
    const CacheShape shape = of;  // a copy: what is written below may not change it
    const uint32_t filter_mask = CacheModel::filter_mask(shape);
    const uint64_t sets = (uint64_t{1} << shape.set_bits) - 1;
    const uint64_t window = kWindowMask >> shape.line_bits;
    const uint32_t page_shift = kPageShift - shape.line_bits - CacheModel::kTrafficBits;
    auto* const rows = reinterpret_cast<uint32_t*>(model + CacheModel::kRowsOffset);
    char* const filter = model + CacheModel::kFilterOffset;
    auto* traffic = reinterpret_cast<CacheModel::Traffic*>(model + CacheModel::kTrafficOffset);
    const auto* const first_traffic = traffic;
    Words set;
    Words tag;
    Words page;
    Words left;
    Words name;
    Words entry_offset;
    while (line != end) {
        const auto count =
            static_cast<uint32_t>(end - line < int64_t{kMost} ? end - line : int64_t{kMost});
        for (uint32_t i = 0; i < count; ++i) {
            const uint64_t known = line[i] & window;
            const auto write = static_cast<uint32_t>(line[i] >> (kWrittenBit - 1)) & kDirty;
            set.at[i] = static_cast<uint32_t>(known & sets);
            tag.at[i] = static_cast<uint32_t>(known >> shape.set_bits) << 2 | kPresent | write;
            page.at[i] = static_cast<uint32_t>(known >> page_shift) & ~kTrafficMask;
        }
        for (uint32_t i = 0; i < count; ++i) {
            __builtin_prefetch(rows + uint64_t{set.at[i]} * Row::kWords, 1);
        }
        for (uint32_t i = 0; i < count; ++i) {
            left.at[i] = Row::move_to_front(rows + uint64_t{set.at[i]} * Row::kWords,
                                            shape.ways - 1, tag.at[i]);
        }
        for (uint32_t i = 0; i < count; ++i) {
            const uint32_t other = other_lines(tag.at[i], left.at[i]);
            const uint32_t was_dirty = left.at[i] & ~other & kDirty;
            page.at[i] |= (other & CacheModel::kFetched) | (tag.at[i] & kDirty & ~was_dirty);
            left.at[i] &= other;
            // If none left, this is a line at the start of the address space, where nothing is.
            name.at[i] = left.at[i] >> 2 << shape.set_bits | set.at[i];
            entry_offset.at[i] = CacheModel::filter_offset(name.at[i], filter_mask);
        }
        for (uint32_t i = 0; i < count; ++i) {
            auto* const entry = reinterpret_cast<FilterEntry*>(filter + entry_offset.at[i]);
            auto* const dirty_entry = entry + (1u << kMostFilterBits);
            if (*entry == name.at[i]) {
                *entry = 0;
            }
            if ((left.at[i] & kDirty) != 0 && *dirty_entry == name.at[i]) {
                *dirty_entry = 0;
            }
            *traffic = {page.at[i]};
            traffic += (page.at[i] & kTrafficMask) != 0 ? 1 : 0;
        }
        line += count;
    }
    return static_cast<uint32_t>(traffic - first_traffic);
}

// The same with vectors of AVX2, for rows of so many words, at least 8.
uint32_t simulate_wide(char* model, const CacheShape& shape, uint32_t words,
                       const WaitingLine* line, const WaitingLine* end);

}  // namespace numascape
