// SPDX-License-Identifier: Apache-2.0
#include "address_space.h"

#include <string_view>

#include "os.h"

namespace numascape {

void write_map(ShardWriter& shard, ThreadRecorder& recorder, uint64_t time,
               const MappedMemory& mapped) {
    auto* record = append_with_text<MapRecord>(shard, recorder, RecordType::kMap, mapped.path,
                                               static_cast<uint8_t>(mapped.flags));
    record->time = time;
    record->start = mapped.start;
    record->bytes = mapped.bytes;
    record->stack_id = mapped.stack_id;
    record->device = mapped.object.device;
    record->inode = mapped.object.inode;
    record->offset = mapped.object.offset;
    shard.commit(recorder, record);
}

void write_map_before(ShardWriter& shard, ThreadRecorder& recorder, uint64_t time,
                      const MappedRange& range) {
    const bool heap = std::string_view(range.path) == "[heap]";
    const int flags = kMapBefore | (heap ? kMapHeap : 0) | (range.shared ? kMapShared : 0);
    write_map(shard, recorder, time,
              {range.start, range.end - range.start, 0, range.path, flags,
               range.shared ? range.object : MappedObject{}});
}

void write_placement_of(ShardWriter& shard, ThreadRecorder& recorder, uint64_t time,
                        const MappedRange& range) {
    const bool kernel_page = std::string_view(range.path).starts_with("[v");
    if (range.accessible && !kernel_page) {
        shard.query_placement(recorder, range.start, range.end, time);
    }
}

void write_module(ShardWriter& shard, ThreadRecorder& recorder, RecordType type, uint64_t time,
                  const ModuleRange& module) {
    auto* record = append_with_text<ModuleRecord>(shard, recorder, type, module.path);
    record->time = time;
    record->start = module.start;
    record->end = module.end;
    record->load_bias = module.load_bias;
    shard.commit(recorder, record);
}

void leave_pages(ShardWriter& shard, ThreadRecorder& recorder, uint64_t first, uint64_t end,
                 uint64_t time) {
    if (end <= first) {
        return;
    }
    if (end - first > kWindowMask) {
        shard.retire(recorder, 0, static_cast<uint32_t>(kWindowPages), time);
        return;
    }
    shard.query_placement(recorder, first, end, time);
    while (first < end) {  // in two parts, if a boundary of the window is inside
        const uint64_t boundary = (first | kWindowMask) + 1;
        const uint64_t stop = boundary < end ? boundary : end;
        shard.retire(recorder, window_page(first), window_page(stop - 1) + 1, time);
        shard.forget_touches(window_page(first), window_page(stop - 1) + 1);
        first = stop;
    }
}

void write_forget(ShardWriter& shard, ThreadRecorder& recorder, uint64_t time, uint64_t start,
                  uint64_t bytes, uint8_t flags) {
    auto* record = static_cast<ForgetRecord*>(
        shard.append(recorder, RecordType::kForget, recorder.thread, sizeof(ForgetRecord), flags));
    record->time = time;
    record->start = start;
    record->bytes = bytes;
    shard.commit(recorder, record);
}

}  // namespace numascape
