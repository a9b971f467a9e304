// SPDX-License-Identifier: Apache-2.0
//
// The largest heap blocks of a shard that is still being written, for people who watch a recording.
// The process is not stopped, so a block that is being allocated or freed may be missing or be
// there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace numascape {

// Blocks of a page or more that were allocated with one call stack, and are not freed.
struct LiveBlocks {
    uint64_t bytes = 0;
    std::vector<uint64_t> frames;  // return addresses, innermost first
};

struct ModuleSoFar {
    std::string path;
    uint64_t start;
    uint64_t end;
    uint64_t load_bias;
};

struct LargestBlocks {
    std::vector<LiveBlocks> sites;  // largest first, only those whose frames are in the log
    std::vector<ModuleSoFar> modules;
};

// The `most` call stacks with most bytes. Throws ShardError: not a shard, another version,
// unreadable.
LargestBlocks largest_blocks(const std::string& path, size_t most);

}  // namespace numascape
