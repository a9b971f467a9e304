// SPDX-License-Identifier: Apache-2.0
//
// Counting a share of the accesses. A thread executes plain blocks, which count nothing, and in
// short bursts blocks that count. DynamoRIO holds each block in two copies; a thread changes
// between them where a burst begins or ends.
//
// Bursts and the gaps between them are measured in units of work (work_units.h). Both copies count
// them, so the share of the work that bursts saw is known exactly, and each access has the same
// chance to be in a burst, however fast its code is. Time would not do: the copies need different
// times for the same work.
#pragma once

#include "dr_api.h"
#include "scratch.h"
#include "shard_writer.h"

namespace numascape {

// Whether only bursts are counted.
bool bursts();
// Whether the block that is being built is plain.
bool builds_plain_block(void* drcontext);
// A burst begins or ends in front of a unit of work at `start`, because fewer than these units are
// left. Does not return: the block begins again in the other copy.
void units_ran_out(app_pc start, uint64_t units);
// Called once, before the first block is built.
void bursts_init();
// The calling thread begins.
void start_bursts(ThreadRecorder& recorder);
// In the child of a fork, on its only thread: the work so far is that of the parent.
void bursts_after_fork(ThreadRecorder& recorder);

// Bursts are counted in so many groups. How much the counts of the groups differ tells the error of
// the estimates.
inline constexpr uint32_t kBurstGroups = 8;

}  // namespace numascape
