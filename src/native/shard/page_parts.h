// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

#include "pages.h"
#include "seen_parts.h"

namespace numascape {

// Parts of a page in granules of 16 bytes, in which allocators place blocks: a bit for each.
struct PageParts {
    static constexpr uint64_t kGranule = 16;
    static constexpr uint32_t kWords = 4;
    static_assert(kPageBytes / kGranule == 64 * kWords);
    uint64_t words[kWords];

    static constexpr PageParts every() { return of(0, kPageBytes); }
    // The parts of `bytes` from `offset` in the page, up to the end of the page.
    static constexpr PageParts of(uint64_t offset, uint64_t bytes) {
        PageParts parts{};
        const uint64_t end = offset + bytes < kPageBytes ? offset + bytes : kPageBytes;
        for (uint64_t word = 0; word < kWords && offset < end; ++word) {
            const uint64_t first = offset / kGranule;
            const uint64_t last = (end - 1) / kGranule;
            const uint64_t low = first > word * 64 ? first - word * 64 : 0;
            if (first < (word + 1) * 64 && last >= word * 64) {
                const uint64_t high = last < word * 64 + 63 ? last - word * 64 : 63;
                parts.words[word] = ~uint64_t{0} >> (63 - (high - low)) << low;
            }
        }
        return parts;
    }
    static constexpr PageParts of(const SeenParts& seen) {
        PageParts parts{};
        for (uint64_t lines = seen.lines; lines != 0; lines &= lines - 1) {
            const auto line = static_cast<uint64_t>(std::countr_zero(lines));
            uint64_t granules = 0;
            for (uint64_t granule = 0; granule < 4; ++granule) {
                const uint64_t at = line * 4 + granule;
                const bool used = seen.in_one_line() ? (seen.bytes >> (granule * 16) & 0xffff) != 0
                                                     : at >= seen.first() / kGranule &&
                                                           at <= seen.last() / kGranule;
                granules |= uint64_t{used} << granule;
            }
            parts.words[line / 16] |= granules << (line % 16 * 4);
        }
        return parts;
    }

    bool meets(const PageParts& other) const { return bytes_in(other) != 0; }
    uint64_t bytes_in(const PageParts& other) const {
        int granules = 0;
        for (uint32_t word = 0; word < kWords; ++word) {
            granules += std::popcount(words[word] & other.words[word]);
        }
        return static_cast<uint64_t>(granules) * kGranule;
    }
    bool contains(const PageParts& other) const {
        uint64_t beside = 0;
        for (uint32_t word = 0; word < kWords; ++word) {
            beside |= other.words[word] & ~words[word];
        }
        return beside == 0;
    }
    uint64_t bytes() const { return bytes_in(*this); }
    void operator|=(const PageParts& other) {
        for (uint32_t word = 0; word < kWords; ++word) {
            words[word] |= other.words[word];
        }
    }
    bool operator==(const PageParts& other) const = default;
};

}  // namespace numascape
