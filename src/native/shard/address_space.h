// SPDX-License-Identifier: Apache-2.0
//
// Records of changes of the program's address space. Each recorder observes them in its own way;
// the records and their order are the same.
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

struct MappedMemory {
    uint64_t start;
    uint64_t bytes;
    uint64_t stack_id;  // of the call that mapped it; 0: none
    const char* path;
    int flags;  // MapFlags
    MappedObject object;
};
void write_map(ShardWriter& shard, ThreadRecorder& recorder, uint64_t time,
               const MappedMemory& mapped);
// Records a mapping that was there before the recording: a range of /proc/self/maps.
void write_map_before(ShardWriter& shard, ThreadRecorder& recorder, uint64_t time,
                      const MappedRange& range);
// Records the nodes of the pages of a range of /proc/self/maps, if it may belong to the program.
void write_placement_of(ShardWriter& shard, ThreadRecorder& recorder, uint64_t time,
                        const MappedRange& range);
struct ModuleRange {
    const char* path;
    uint64_t start;
    uint64_t end;
    uint64_t load_bias;
};
void write_module(ShardWriter& shard, ThreadRecorder& recorder, RecordType type, uint64_t time,
                  const ModuleRange& module);

// The kernel is about to remove the pages of the range, and may provide new ones: their counts go
// to the log, and their next access is recorded as a first touch. This is harmless if the kernel
// does not remove them.
void leave_pages(ShardWriter& shard, ThreadRecorder& recorder, uint64_t first, uint64_t end,
                 uint64_t time);
// The kernel removed the pages, but the mapping stays.
void write_forget(ShardWriter& shard, ThreadRecorder& recorder, uint64_t time, uint64_t start,
                  uint64_t bytes, uint8_t flags);

}  // namespace numascape
