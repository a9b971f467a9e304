// SPDX-License-Identifier: Apache-2.0
//
// Records of what happens to the program's address space. The recorders find out in their own ways;
// what is written, and in which order, is the same.
#pragma once

#include "process_maps.h"
#include "shard_writer.h"

namespace numascape {

inline uint64_t page_floor(uint64_t address) {
    return address & ~(kPageBytes - 1);
}
inline uint64_t page_ceiling(uint64_t address) {
    return page_floor(address + kPageBytes - 1);
}

// Room for a record that is followed by a text; the text is there already.
template <typename Record>
Record* append_with_text(ShardWriter& shard, ThreadRecorder& recorder, RecordType type,
                         const char* text, uint8_t flags = 0) {
    size_t length = 0;
    while (text[length] != '\0' && length < 4096) {
        ++length;
    }
    const size_t room = (length + 1 + 7) & ~size_t{7};
    auto* record = static_cast<Record*>(
        shard.append(recorder, type, recorder.thread, sizeof(Record) + room, flags));
    char* to = reinterpret_cast<char*>(record + 1);
    for (size_t i = 0; i < room; ++i) {
        to[i] = i < length ? text[i] : '\0';
    }
    return record;
}

// `flags` are MapFlags.
void write_map(ShardWriter& shard, ThreadRecorder& recorder, uint64_t time, uint64_t start,
               uint64_t bytes, uint64_t stack_id, const char* path, uint8_t flags);
// What was mapped before: a range of /proc/self/maps.
void write_map_before(ShardWriter& shard, ThreadRecorder& recorder, uint64_t time,
                      const MappedRange& range);
// Where the pages of a range of /proc/self/maps are, if they can be the program's.
void write_placement_of(ShardWriter& shard, ThreadRecorder& recorder, uint64_t time,
                        const MappedRange& range);
void write_module(ShardWriter& shard, ThreadRecorder& recorder, RecordType type, uint64_t time,
                  const char* path, uint64_t start, uint64_t end, uint64_t load_bias);

// The kernel takes the pages of the range away, and may give others: their next access is a first
// touch again. False when the range is none.
bool leave_pages(ShardWriter& shard, ThreadRecorder& recorder, uint64_t first, uint64_t end,
                 uint64_t time);
// Called before the kernel takes the mapping away (or a MAP_FIXED mapping replaces it): afterwards
// another thread may already have something else there.
void leave_range(ShardWriter& shard, ThreadRecorder& recorder, uint64_t start, uint64_t bytes);

}  // namespace numascape
