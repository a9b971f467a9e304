// SPDX-License-Identifier: Apache-2.0
//
// Sums of a shard that is still being written, for people who watch a recording. The process is not
// stopped, so the sums are not of one moment: counts of a thread that is just ending may be missing
// or be there twice.
#pragma once

#include <cstdint>
#include <string>

namespace numascape {

struct CountsSoFar {
    uint64_t reads = 0;
    uint64_t writes = 0;
    uint64_t pages = 0;    // with at least one access
    uint32_t threads = 0;  // that have not ended
};

// Throws ShardError: not a shard, another version, unreadable.
CountsSoFar counts_so_far(const std::string& path);

}  // namespace numascape
