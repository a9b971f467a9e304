// SPDX-License-Identifier: Apache-2.0
//
// The placed memory: its pages and rules. A heap block with a rule is a separate mapping, so it
// shares no page and no policy with other memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "interval_map.h"
#include "policies.h"

namespace numascape::placer {

// A placed block. The map of blocks has its present pages: a system call may have removed some.
struct Block {
    Placed placed;
    std::uint64_t mapped_bytes;  // 0: not ours to unmap (a variable, a mapping, a stack)
    std::uint32_t ranges;        // of pages with a policy of their own
    bool counted;                // in the report already
};

// Blocks that a system call may end or move. They are taken out until the call has returned.
using LeavingBlocks = IntervalMap<Block>::Taken;

// False if there are too many. Older information about these addresses is forgotten.
bool add_block(const Block& block);

// The block whose pages begin at `first`; false when there is none. `take_block` removes it.
bool find_block(std::uint64_t first, Block& block);
bool take_block(std::uint64_t first, Block& block);

// `visit(Block&)` for those with pages in [first, end).
void for_each_block_in(std::uint64_t first, std::uint64_t end, void (*visit)(Block&));

// Takes the blocks, and parts of blocks, in [first, end) out.
LeavingBlocks leave_blocks(std::uint64_t first, std::uint64_t end);
// Puts back what was taken out, `shift` bytes further on.
void return_blocks(LeavingBlocks blocks, std::uint64_t shift);
// Forgets what was taken out.
void forget_blocks(LeavingBlocks blocks);

// Whether any block was ever added.
bool any_blocks();

// Calls `visit(Block&)` for all blocks. It takes no lock, because it also runs in signal handlers:
// it may miss what other threads allocate and free at the same time.
void for_each_block(void (*visit)(Block&));

// Called before and after a fork, so that no other thread is in the middle of a change.
void lock_blocks();
void unlock_blocks();

}  // namespace numascape::placer
