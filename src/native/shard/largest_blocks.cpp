// SPDX-License-Identifier: Apache-2.0
#include "largest_blocks.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "shard_reader.h"

namespace numascape {
namespace {

// The last event of an address. Records are not in the order of their times.
struct LastEvent {
    uint64_t time = 0;
    uint64_t bytes = 0;  // 0: freed
    uint64_t stack_id = 0;
};

class LiveHeap {
  public:
    void add(const RecordView& record) {
        if (record.type() == RecordType::kAlloc) {
            const auto& block = record.as<AllocRecord>();
            happened(block.address, {record.time, block.bytes, block.stack_id});
        } else if (record.type() == RecordType::kFree) {
            happened(record.as<FreeRecord>().address, {record.time, 0, 0});
        } else if (record.type() == RecordType::kModuleLoad) {
            const auto& module = record.as<ModuleRecord>();
            modules_.push_back({std::string(text_of(record.rest<ModuleRecord>())), module.start,
                                module.end, module.load_bias});
        }
    }
    // The call stacks with most bytes, as (bytes, identifier), largest first.
    std::vector<std::pair<uint64_t, uint64_t>> largest(size_t most) const {
        std::unordered_map<uint64_t, uint64_t> by_stack;
        for (const auto& [address, last] : events_) {
            if (last.bytes != 0 && last.stack_id != 0) {
                by_stack[last.stack_id] += last.bytes;
            }
        }
        std::vector<std::pair<uint64_t, uint64_t>> out;
        out.reserve(by_stack.size());
        for (const auto& [stack_id, bytes] : by_stack) {
            out.emplace_back(bytes, stack_id);
        }
        std::sort(out.rbegin(), out.rend());
        out.resize(std::min(most, out.size()));
        return out;
    }
    std::vector<ModuleSoFar> modules() && { return std::move(modules_); }

  private:
    void happened(uint64_t address, const LastEvent& event) {
        LastEvent& last = events_[address];
        if (event.time >= last.time) {
            last = event;
        }
    }

    std::unordered_map<uint64_t, LastEvent> events_;
    std::vector<ModuleSoFar> modules_;
};

std::vector<uint64_t> frames_of(const RecordView& record) {
    const auto rest = record.rest<CallFramesRecord>();
    std::vector<uint64_t> frames(record.as<CallFramesRecord>().frames);
    std::memcpy(frames.data(), rest.data(), frames.size() * sizeof(uint64_t));
    return frames;
}

}  // namespace

LargestBlocks largest_blocks(const std::string& path, size_t most) {
    const ShardReader shard(path);
    LiveHeap heap;
    shard.each_record([&](const RecordView& record) { heap.add(record); });
    const auto largest = heap.largest(most);
    std::unordered_map<uint64_t, std::vector<uint64_t>> frames;
    for (const auto& [bytes, stack_id] : largest) {
        frames[stack_id];
    }
    shard.each_record([&](const RecordView& record) {
        if (record.type() == RecordType::kCallFrames) {
            const auto wanted = frames.find(record.as<CallFramesRecord>().stack_id);
            if (wanted != frames.end()) {
                wanted->second = frames_of(record);
            }
        }
    });
    LargestBlocks out;
    for (const auto& [bytes, stack_id] : largest) {
        if (!frames[stack_id].empty()) {
            out.sites.push_back({bytes, std::move(frames[stack_id])});
        }
    }
    out.modules = std::move(heap).modules();
    return out;
}

}  // namespace numascape
