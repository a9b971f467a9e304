// SPDX-License-Identifier: Apache-2.0
//
// Which instructions touch which structure, and how often.
//
// How often: each block with places that count begins, at its first place, with a subtraction from
// its counter in the thread's table (block_counters.h).
//
// Which structure: now and then, when that counter runs out, the thread's table is exchanged for
// its *sampling table* for one execution of the block. In that one every slot is zero, so each
// place leaves the inlined code by its own carry. Its handler moves the count into the real table
// and notes the site and the page. The next block's head carries on the sampling table too, and
// puts the real one back: nothing has to be done where a block ends, whichever way it ends.
#pragma once

#include <cstdint>

#include "dr_api.h"
#include "shard_writer.h"

namespace numascape {

struct BlockPlan;
struct Emitter;

inline constexpr uint32_t kNoBlock = ~uint32_t{0};

void block_heads_init();

// The number of the block that starts at `tag`: the same again when DynamoRIO builds the block
// anew. Describes it in the shard the first time. kNoBlock: it counts nothing, or no more blocks
// can be numbered.
uint32_t number_block(void* drcontext, void* tag, const BlockPlan& plan);
uint32_t group_site(uint32_t block, uint32_t group);
// Of what a special instruction reads; of what it writes, the next.
uint32_t special_site(uint32_t block, const BlockPlan& plan, uint32_t special);

// Counts the block; `table` holds the thread's table and is loaded anew if that changes. The flags
// may be changed.
void insert_block_head(const Emitter& emit, uint32_t block, reg_id_t table);

// Code that insert_block_head jumps to calls this: kArgument = table, kInfo = block.
void block_counter_ran_out(uint64_t table, const void* block, ThreadRecorder* recorder,
                           const void* registers, uint64_t second, const void* vector);

// The inlined code found a zero slot in the sampling table: counts it in the real one, and notes
// it.
void count_sample(ThreadRecorder& recorder, uint32_t page, uint64_t pc, uint32_t site);
// One execution of an instruction touched what is at `address` so many times: notes it when it was
// many times, or the block is being sampled.
void note_special(ThreadRecorder& recorder, uint32_t block, uint32_t site, uint64_t address,
                  uint64_t times);

}  // namespace numascape
