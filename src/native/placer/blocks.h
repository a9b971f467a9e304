// SPDX-License-Identifier: Apache-2.0
//
// What was placed: which pages, and by which rule. Blocks of the heap that a rule is about are
// mappings of their own, so that no page and no policy is shared with anything else.
#pragma once

#include <cstddef>
#include <cstdint>

#include "policies.h"

namespace numascape::placer {

struct Block {
    Placed placed;
    std::uint64_t mapped_bytes;  // 0: not ours to unmap (a variable, a mapping, a stack)
    std::uint32_t ranges;        // of pages with a policy of their own
    bool counted;                // in the report already
};

// False when there are too many. `placed.first` must be in no other block.
bool add_block(const Block& block);

// The block whose pages begin at `first`; false when there is none. `take_block` removes it.
bool find_block(std::uint64_t first, Block& block);
bool take_block(std::uint64_t first, Block& block);

// Whether any block was ever added.
bool any_blocks();

// `visit(Block&)` for all of them. Takes no lock, because it runs in signal handlers too: what
// other threads allocate and free meanwhile may be missed.
void for_each_block(void (*visit)(Block&));

// Around a fork, so that no other thread is in the middle of a change.
void lock_blocks();
void unlock_blocks();

}  // namespace numascape::placer
