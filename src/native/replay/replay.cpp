// SPDX-License-Identifier: Apache-2.0
#include "replay.h"

#include <utility>

#include "replayer.h"

namespace numascape {

uint32_t Owners::add(const Owner& owner) {
    kind.push_back(static_cast<uint8_t>(owner.kind));
    start.push_back(owner.start);
    bytes.push_back(owner.bytes);
    stack_id.push_back(owner.stack_id);
    thread.push_back(owner.thread);
    path.push_back(owner.path);
    flags.push_back(owner.flags);
    blocks.push_back(owner.blocks);
    object.push_back(owner.object);
    object_start.push_back(owner.object_start);
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
