// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

#include "pages.h"

namespace numascape {

inline constexpr uint32_t kSeenLineBits = 6;
static_assert(kPageBytes >> kSeenLineBits == 64);

// Which parts of a page samples saw in use: `lines` has a bit for each of its 64 cache lines. If
// only one line is in use, `bytes` has a bit for each byte of this line. Otherwise `bytes` holds
// the positions of the first and the last used byte in the page. All 0 where the recorder knows
// only the page.
struct SeenParts {
    uint64_t lines = 0;
    uint64_t bytes = 0;

    static constexpr SeenParts of_lines(uint64_t lines, uint64_t first, uint64_t last) {
        return {lines, first | last << 32};
    }
    // Not with std::has_single_bit, which may call a function of a library that the recorder does
    // not have.
    constexpr bool in_one_line() const { return lines != 0 && (lines & (lines - 1)) == 0; }
    constexpr uint64_t first() const {
        return in_one_line() ? line_start() + static_cast<uint64_t>(std::countr_zero(bytes))
                             : bytes & 0xffffffff;
    }
    constexpr uint64_t last() const {
        return in_one_line() ? line_start() + static_cast<uint64_t>(std::bit_width(bytes)) - 1
                             : bytes >> 32;
    }
    void operator|=(const SeenParts& other) {
        if (lines == 0 || other.lines == 0) {
            *this = lines == 0 ? other : *this;
        } else if ((lines | other.lines) == lines && in_one_line()) {
            bytes |= other.bytes;
        } else {
            const uint64_t low = first() < other.first() ? first() : other.first();
            const uint64_t high = last() > other.last() ? last() : other.last();
            *this = of_lines(lines | other.lines, low, high);
        }
    }

  private:
    constexpr uint64_t line_start() const {
        return static_cast<uint64_t>(std::countr_zero(lines)) << kSeenLineBits;
    }
};

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
    return line == last_line ? SeenParts{bits(line, line), bits(first & kInLine, last & kInLine)}
                             : SeenParts::of_lines(bits(line, last_line), first, last);
}
constexpr SeenParts seen_at(uint64_t address) {
    return seen_parts(address, 0, 1);
}

}  // namespace numascape
