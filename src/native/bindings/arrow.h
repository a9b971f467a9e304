// SPDX-License-Identifier: Apache-2.0
//
// The structures of Apache Arrow's C data interface, by which libraries exchange tables without
// copying them. Their layout is an ABI: https://arrow.apache.org/docs/format/CDataInterface.html
// and CStreamInterface.html. Python passes them in capsules:
// CDataInterface/PyCapsuleInterface.html.
#pragma once

#include <cstdint>

namespace numascape {

struct ArrowSchema {
    const char* format;
    const char* name;
    const char* metadata;
    int64_t flags;
    int64_t n_children;
    ArrowSchema** children;
    ArrowSchema* dictionary;
    void (*release)(ArrowSchema*);
    void* private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void** buffers;
    ArrowArray** children;
    ArrowArray* dictionary;
    void (*release)(ArrowArray*);
    void* private_data;
};

struct ArrowArrayStream {
    int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
    int (*get_next)(ArrowArrayStream*, ArrowArray*);
    const char* (*get_last_error)(ArrowArrayStream*);
    void (*release)(ArrowArrayStream*);
    void* private_data;
};

// The format of a column of numbers.
template <typename T>
constexpr const char* arrow_format();
template <>
constexpr const char* arrow_format<uint8_t>() {
    return "C";
}
template <>
constexpr const char* arrow_format<int16_t>() {
    return "s";
}
template <>
constexpr const char* arrow_format<uint32_t>() {
    return "I";
}
template <>
constexpr const char* arrow_format<uint64_t>() {
    return "L";
}
template <>
constexpr const char* arrow_format<double>() {
    return "g";
}

}  // namespace numascape
