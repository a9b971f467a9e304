// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "pages.h"

namespace numascape {

// Which parts of a page samples saw in use: a bit for each of its 64 cache lines and, if all of it
// is in one line, a bit for each byte of this line. All 0 where the recorder knows only the page.
struct SeenParts {
    uint64_t lines = 0;
    uint64_t bytes = 0;

    bool in_one_line() const { return lines != 0 && (lines & (lines - 1)) == 0; }
    void operator|=(const SeenParts& other) {
        lines |= other.lines;
        bytes = in_one_line() ? bytes | other.bytes : 0;
    }
};
inline constexpr uint32_t kSeenLineBits = 6;
static_assert(kPageBytes >> kSeenLineBits == 64);

// An access of `size` bytes, `distance` behind `address`, seen on the page of `address`.
constexpr SeenParts seen_parts(uint64_t address, uint64_t distance, uint64_t size) {
    const uint64_t first = address % kPageBytes + distance;
    if (size == 0 || first >= kPageBytes) {
        return {};
    }
    const uint64_t last = first + size > kPageBytes ? kPageBytes - 1 : first + size - 1;
    const auto bits = [](uint64_t low, uint64_t high) {  // both included
        return ~uint64_t{0} >> (63 - (high - low)) << low;
    };
    const uint64_t line = first >> kSeenLineBits;
    const uint64_t last_line = last >> kSeenLineBits;
    constexpr uint64_t kInLine = (uint64_t{1} << kSeenLineBits) - 1;
    return {bits(line, last_line), line == last_line ? bits(first & kInLine, last & kInLine) : 0};
}
constexpr SeenParts seen_at(uint64_t address) {
    return seen_parts(address, 0, 1);
}

}  // namespace numascape
