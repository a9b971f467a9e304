// SPDX-License-Identifier: Apache-2.0
//
// Included by call_instructions.h alone.
#pragma once

#include <cstdint>

namespace numascape {

// `before` are the bytes as a number, the first byte in its lowest bits.
inline bool ends_call(uint64_t before) {
    constexpr unsigned kLongest = 7;
    constexpr unsigned kDirect = 0xe8;    // with 4 bytes of distance
    constexpr unsigned kIndirect = 0xff;  // the operation is in the middle of the next byte
    constexpr unsigned kCall = 2;
    const auto from_end = [&](unsigned number) { return before >> 8 * (8 - number) & 0xff; };
    if (from_end(5) == kDirect) {
        return true;
    }
    for (unsigned length = 2; length <= kLongest; ++length) {
        if (from_end(length) == kIndirect && (from_end(length - 1) >> 3 & 7) == kCall) {
            return true;
        }
    }
    return false;
}

}  // namespace numascape
