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

// Far enough ahead that a set has come from the second level.
inline constexpr int kAhead = 12;

// What a row of tags says of one.
struct Found {
    uint32_t there;  // the tag that was where the last one moved to
    bool own;        // that is the one
};

// The lines of [line, end) taken in, in a model of this shape; returns how many have traffic. A
// set's tags are in the order of use, in a row of Row::kWords. Row::move_to_front(row, last way,
// tag, dirty) puts the tag first, and moves those down that were before it, or all. There are no
// branches: whether a line is in its set, and where, cannot be predicted.
template <class Row>
uint32_t simulate(char* model, const CacheShape& of, const WaitingLine* line,
                  const WaitingLine* end) {
    const CacheShape shape = of;  // a copy: what is written below may not change it
    const uint32_t filter_mask = CacheModel::filter_mask(shape);
    const uint64_t sets = (uint64_t{1} << shape.set_bits) - 1;
    const uint64_t window = kWindowMask >> shape.line_bits;
    const uint32_t page_shift = kPageShift - shape.line_bits - CacheModel::kTrafficBits;
    auto* const rows = reinterpret_cast<uint32_t*>(model + CacheModel::kRowsOffset);
    uint32_t count = 0;
    for (; line != end; ++line) {
        // Beyond the end are lines of before, or zeros.
        __builtin_prefetch(rows + (line[kAhead] & sets) * Row::kWords, 1);
        const uint64_t known = *line & window;
        const uint64_t set = known & sets;
        const auto write = static_cast<uint32_t>(*line >> (kWrittenBit - 1)) & kDirty;
        const uint32_t tag = static_cast<uint32_t>(known >> shape.set_bits) << 2 | kPresent;
        const auto [there, own] =
            Row::move_to_front(rows + set * Row::kWords, shape.ways - 1, tag, write);
        const uint32_t other = own ? 0 : ~0u;
        // If none left, this is a line at the start of the address space, where nothing is.
        const uint64_t left = uint64_t{(there & other) >> 2} << shape.set_bits | set;
        const auto name = static_cast<FilterEntry>(left);
        auto* const entry = reinterpret_cast<FilterEntry*>(
            model + CacheModel::kFilterOffset + CacheModel::filter_offset(left, filter_mask));
        auto* const dirty_entry = entry + (1u << kMostFilterBits);
        if (*entry == name) {
            *entry = 0;
        }
        if ((there & other & kDirty) != 0 && *dirty_entry == name) {
            *dirty_entry = 0;
        }
        const uint32_t what = (other & CacheModel::kFetched) | (write & ~(there & ~other));
        reinterpret_cast<CacheModel::Traffic*>(model + CacheModel::kTrafficOffset)[count] = {
            (static_cast<uint32_t>(known >> page_shift) & ~3u) | what};
        count += what != 0 ? 1 : 0;
    }
    return count;
}

// The same with vectors of AVX2, for rows of so many words, at least 8.
uint32_t simulate_wide(char* model, const CacheShape& shape, uint32_t words,
                       const WaitingLine* line, const WaitingLine* end);

}  // namespace numascape
