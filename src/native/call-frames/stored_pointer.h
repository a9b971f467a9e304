// SPDX-License-Identifier: Apache-2.0
//
// Pointers in call frame information are stored in few bytes, relative to something (Linux Standard
// Base 5.0, tables 10-5 and 10-6).
#pragma once

#include <cstdint>

#include "program_bytes.h"

namespace numascape {

namespace pointer_encoding {

inline constexpr uint8_t kFormat = 0x0f;
inline constexpr uint8_t kUnsigned2 = 0x02;
inline constexpr uint8_t kUnsigned4 = 0x03;
inline constexpr uint8_t kUnsigned8 = 0x04;
inline constexpr uint8_t kSigned2 = 0x0a;
inline constexpr uint8_t kSigned4 = 0x0b;
inline constexpr uint8_t kSigned8 = 0x0c;
inline constexpr uint8_t kAbsolute = 0x00;
inline constexpr uint8_t kRelativeToPlace = 0x10;
inline constexpr uint8_t kRelativeToTable = 0x30;

}  // namespace pointer_encoding

// False if the encoding is not supported, or there is no memory. Pointers relative to the search
// table are not supported: only entries of the table itself use them.
inline bool read_pointer(ProgramBytes& from, uint8_t encoding, uint64_t& value) {
    using namespace pointer_encoding;
    const uint64_t place = from.position();
    switch (encoding & kFormat) {
        case kAbsolute:
        case kUnsigned8:
        case kSigned8:
            value = from.value<uint64_t>();
            break;
        case kUnsigned2:
            value = from.value<uint16_t>();
            break;
        case kUnsigned4:
            value = from.value<uint32_t>();
            break;
        case kSigned2:
            value = static_cast<uint64_t>(int64_t{from.value<int16_t>()});
            break;
        case kSigned4:
            value = static_cast<uint64_t>(int64_t{from.value<int32_t>()});
            break;
        default:
            return false;
    }
    switch (encoding & ~kFormat) {
        case kAbsolute:
            return !from.failed();
        case kRelativeToPlace:
            value += place;
            return !from.failed();
        default:
            return false;
    }
}

}  // namespace numascape
