// SPDX-License-Identifier: Apache-2.0
//
// Determines which instructions access which structure, and how often.
//
// How often: each block with counted accesses begins, at its first counted access, with a
// subtraction from its counter in the table of the thread (block_counters.h).
//
// Which structure: when this counter reaches zero, the table of the thread is replaced by its
// *sampling table* for one execution of the block. There, every page counter is zero, so each
// counted access takes the slow path by its own carry. The slow path moves the count into the real
// table and records the site and the page. The head of the next block also sets the carry flag on
// the sampling table, and restores the real one. So no code is needed at the end of a block, which
// may have several exits.
#pragma once

#include <cstdint>

#include "dr_api.h"
#include "shard_writer.h"

namespace numascape {

struct BlockPlan;
struct Emitter;

inline constexpr uint32_t kNoBlock = ~uint32_t{0};

void block_heads_init();
void block_heads_after_fork();
void block_heads_exit();

// The number of the block that starts at `tag`; it is the same if DynamoRIO builds the block again.
// Describes the block in the shard the first time. kNoBlock: it counts nothing, or no more blocks
// can be numbered.
uint32_t number_block(void* drcontext, void* tag, const BlockPlan& plan);
uint32_t group_site(uint32_t block, uint32_t group);
// The site of the reads of a special instruction; the next one is for its writes.
uint32_t special_site(uint32_t block, const BlockPlan& plan, uint32_t special);

// arch/: counts the block. `table` holds the thread's table, and is loaded again if that changes.
// The flags may be changed.
void insert_block_head(const Emitter& emit, uint32_t block, reg_id_t table);

// Ends the sample in progress, if there is one. Called between blocks.
void stop_sampling(ThreadRecorder& recorder);

// The code to which insert_block_head jumps calls this: kArgument = table, kInfo = block.
void block_counter_ran_out(uint64_t table, const void* block, ThreadRecorder* recorder,
                           const void* registers, uint64_t second, const void* vector);

// The inlined code found a zero counter in the sampling table: counts it in the real one, and notes
// it.
void count_sample(ThreadRecorder& recorder, uint32_t page, const AccessingCode& code, uint32_t site,
                  const SeenParts& seen);
// One execution of an instruction made this many accesses at `address`, which used these parts of
// its page. Records it if there were many, or if the block is being sampled.
void note_special(ThreadRecorder& recorder, uint32_t block, uint32_t site, uint64_t address,
                  const SeenParts& seen, uint64_t times);

}  // namespace numascape
