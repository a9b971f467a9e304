// SPDX-License-Identifier: Apache-2.0
#include "replay.h"

#include <utility>

#include "replayer.h"

namespace numascape {

uint32_t Owners::add(OwnerKind k, uint64_t at, uint64_t size, uint64_t stack, uint32_t of_thread,
                     uint32_t path_index, uint8_t map_flags, uint64_t count) {
    kind.push_back(static_cast<uint8_t>(k));
    start.push_back(at);
    bytes.push_back(size);
    stack_id.push_back(stack);
    thread.push_back(of_thread);
    path.push_back(path_index);
    flags.push_back(map_flags);
    blocks.push_back(count);
    object.push_back(0);
    object_start.push_back(0);
    return static_cast<uint32_t>(kind.size() - 1);
}

Replay replay(const ShardReader& shard, const std::vector<const ShardReader*>& parents,
              const std::vector<Fault>& faults, const FramePlaces& frame_places) {
    Replay out;
    Replayer replayer(out, frame_places);
    for (const ShardReader* parent : parents) {
        replayer.prepare(parent->records());
    }
    auto records = shard.records();
    replayer.add_counted(records);
    replayer.prepare(records);
    replayer.run(std::move(records), faults, shard.header());
    replayer.finish(shard);
    return out;
}

}  // namespace numascape
