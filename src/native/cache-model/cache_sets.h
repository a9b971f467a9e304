// SPDX-License-Identifier: Apache-2.0
//
// The code with which a CacheModel processes lines. It is compiled once for each kind of vector
// registers.
#pragma once

#include <cstdint>

#include "cache_model.h"

namespace numascape {

// Bits of a tag.
inline constexpr uint32_t kPresent = 1;
inline constexpr uint32_t kDirty = CacheModel::kDirtied;

// All bits set if a tag is that of another line, otherwise 0.
inline uint32_t other_lines(uint32_t tag, uint32_t there) {
    return ((tag ^ there) & ~kDirty) != 0 ? ~0u : 0;
}

// Some lines that are processed together. Each step is executed for all of them before the next
// step. The compiler can then use vectors for the other steps too, and the rows are fetched from
// the second-level cache at the same time. All steps are inlined, so the arrays stay local
// variables.
struct LineBatch {
    static constexpr uint32_t kMax = 64;
    static constexpr uint32_t kTrafficMask = (1u << CacheModel::kTrafficBits) - 1;
    struct alignas(32) Words {
        uint32_t at[kMax];
    };

    [[gnu::always_inline]] void split(const CacheShape& shape, const WaitingLine* line) {
        const uint64_t sets = (uint64_t{1} << shape.set_bits) - 1;
        const uint64_t window = kWindowMask >> shape.line_bits;
        const uint32_t page_shift = kPageShift - shape.line_bits - CacheModel::kTrafficBits;
        for (uint32_t i = 0; i < count; ++i) {
            const uint64_t known = line[i] & window;
            const auto write = static_cast<uint32_t>(line[i] >> (kWrittenBit - 1)) & kDirty;
            set.at[i] = static_cast<uint32_t>(known & sets);
            tag.at[i] = static_cast<uint32_t>(known >> shape.set_bits) << 2 | kPresent | write;
            page.at[i] = static_cast<uint32_t>(known >> page_shift) & ~kTrafficMask;
        }
    }

    template <class Row>
    [[gnu::always_inline]] void move_to_front(const CacheShape& shape, uint32_t* rows) {
        for (uint32_t i = 0; i < count; ++i) {
            __builtin_prefetch(rows + uint64_t{set.at[i]} * Row::kWords, 1);
        }
        for (uint32_t i = 0; i < count; ++i) {
            left.at[i] = Row::move_to_front(rows + uint64_t{set.at[i]} * Row::kWords,
                                            shape.ways - 1, tag.at[i]);
        }
    }

    // Finds out which lines were fetched or made dirty, and which lines left the cache.
    [[gnu::always_inline]] void find_traffic(const CacheShape& shape) {
        const uint32_t filter_mask = CacheModel::filter_mask(shape);
        for (uint32_t i = 0; i < count; ++i) {
            const uint32_t other = other_lines(tag.at[i], left.at[i]);
            const uint32_t was_dirty = left.at[i] & ~other & kDirty;
            page.at[i] |= (other & CacheModel::kFetched) | (tag.at[i] & kDirty & ~was_dirty);
            left.at[i] &= other;
            // If no tag left the set, this is a line at the start of the address space, where
            // nothing is mapped.
            name.at[i] = left.at[i] >> 2 << shape.set_bits | set.at[i];
            entry_offset.at[i] = CacheModel::filter_offset(name.at[i], filter_mask);
        }
    }

    // Removes the lines that left the cache from the filter. Writes the lines with traffic from
    // `traffic` on, and returns the end of them.
    [[gnu::always_inline]] CacheModel::Traffic* report(char* filter,
                                                       CacheModel::Traffic* traffic) const {
        for (uint32_t i = 0; i < count; ++i) {
            auto* const entry = reinterpret_cast<FilterEntry*>(filter + entry_offset.at[i]);
            auto* const dirty_entry = entry + (1u << kMaxFilterBits);
            if (*entry == name.at[i]) {
                *entry = 0;
            }
            if ((left.at[i] & kDirty) != 0 && *dirty_entry == name.at[i]) {
                *dirty_entry = 0;
            }
            *traffic = {page.at[i]};
            traffic += (page.at[i] & kTrafficMask) != 0 ? 1 : 0;
        }
        return traffic;
    }

    uint32_t count;
    Words set;
    Words tag;
    Words page;  // in the upper bits; below them, the traffic
    Words left;  // the tag that left the set, or 0
    Words name;  // of the line that left the cache
    Words entry_offset;
};

// Processes the lines [line, end) in a model of this shape. Returns how many have traffic.
//
// The tags of a set are in the order of use, in a row of Row::kWords. Row::move_to_front(row, last
// way, tag) puts the tag first, and marks it dirty if it is or was dirty. It moves down all tags
// that were before this tag, or all tags if this tag was not in the set. It returns the tag that
// was at the last moved position: the same tag, or the tag that left the set. It has no branches,
// because nothing predicts whether and where a line is in its set.
template <class Row>
uint32_t simulate(char* model, const CacheShape& of, const WaitingLine* line,
                  const WaitingLine* end) {
    const CacheShape shape = of;  // a copy: what is written below may not change it
    auto* const rows = reinterpret_cast<uint32_t*>(model + CacheModel::kRowsOffset);
    auto* traffic = reinterpret_cast<CacheModel::Traffic*>(model + CacheModel::kTrafficOffset);
    const auto* const first_traffic = traffic;
    LineBatch batch;
    while (line != end) {
        batch.count = static_cast<uint32_t>(
            end - line < int64_t{LineBatch::kMax} ? end - line : int64_t{LineBatch::kMax});
        batch.split(shape, line);
        batch.move_to_front<Row>(shape, rows);
        batch.find_traffic(shape);
        traffic = batch.report(model + CacheModel::kFilterOffset, traffic);
        line += batch.count;
    }
    return static_cast<uint32_t>(traffic - first_traffic);
}

// simulate() with the processor's narrow vectors (arch/), for rows of `words` words, at least 4.
uint32_t simulate_narrow(char* model, const CacheShape& shape, uint32_t words,
                         const WaitingLine* line, const WaitingLine* end);
// The same with the wide vectors of the processor, for at least 8 words. It may only be called if
// CacheModel::wide_vectors_here().
uint32_t simulate_wide(char* model, const CacheShape& shape, uint32_t words,
                       const WaitingLine* line, const WaitingLine* end);

}  // namespace numascape
