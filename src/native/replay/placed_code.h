// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "shard_format.h"

namespace numascape {

// Where the program's code is in the code cache of the recorder, at the present time of the replay.
class PlacedCode {
  public:
    void place(const PlacedCodeRecord& block) {
        const uint64_t end = block.start + block.bytes;
        // What was there before is gone. Only the first may begin before the block.
        auto at = blocks_.upper_bound(block.start);
        if (at != blocks_.begin() && std::prev(at)->second.end > block.start) {
            --at;
        }
        while (at != blocks_.end() && at->first < end) {
            at = blocks_.erase(at);
        }
        if (end > block.start) {
            blocks_[block.start] = {end, block.pc};
        }
    }
    // The address, in the program, of the block that contains this address of the code cache.
    std::optional<uint64_t> in_program(uint64_t address) const {
        const auto after = blocks_.upper_bound(address);
        if (after == blocks_.begin() || std::prev(after)->second.end <= address) {
            return std::nullopt;
        }
        return std::prev(after)->second.pc;
    }

  private:
    struct Block {
        uint64_t end;
        uint64_t pc;
    };
    std::map<uint64_t, Block> blocks_;  // by start
};

}  // namespace numascape
