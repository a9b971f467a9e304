// SPDX-License-Identifier: Apache-2.0
//
// A record in the log of a shard as it is read, and what a record of each type must be.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "record_header.h"

namespace numascape {

// Bytes of the fixed part of a record; 0 for a type that does not exist.
size_t fixed_bytes(RecordType type);

// A record of at least the fixed size of its type. A replay has millions of them, so they are
// small.
struct RecordView {
    RecordView(const RecordHeader* record, uint32_t writer);

    const RecordHeader* header;
    uint64_t time;    // in ticks; 0 for records without a time
    uint32_t thread;  // the thread that wrote it

    RecordType type() const { return static_cast<RecordType>(header->type); }
    std::span<const std::byte> bytes() const {
        return {reinterpret_cast<const std::byte*>(header), size_t{header->words} * 8};
    }
    template <typename Record>
    const Record& as() const {
        return *reinterpret_cast<const Record*>(header);
    }
    // What follows the fixed part.
    template <typename Record>
    std::span<const std::byte> rest() const {
        return bytes().subspan(sizeof(Record));
    }
};

// Whether lengths in the record agree with its size, its pages are in the window, and its threads
// and phases exist. `threads`: of the shard.
bool consistent(const RecordView& record, uint32_t threads);

// Text up to the first NUL, or all of it.
std::string_view text_of(std::span<const std::byte> bytes);

}  // namespace numascape
