// SPDX-License-Identifier: Apache-2.0
//
// Holds the cost of a recording of bursts: estimates the CPU time that the program would need
// without the recorder, and chooses the share of the work that may be counted.
//
// All of the process's CPU time that is not the recorder's is that of plain blocks, which DynamoRIO
// has translated. Its time for a unit of work, times all units, is the time without the recorder.
// This takes translated code to be as fast as the program's own. The recorder's time is measured:
// bursts, building blocks, following allocations and system calls, and the process that records
// page faults.
#pragma once

#include <cstdint>

#include "os.h"
#include "shard_writer.h"

namespace numascape {

// Whether the share of the work that is counted follows from a cost.
bool holds_cost();
// Called once, before the first block is built.
void cost_init();
// In the child of a fork: its costs begin.
void cost_after_fork();

// The thread begins a burst, has ended one, or ends a gap of so many units.
void cost_burst_begins(BurstState& state);
void cost_burst_ends(const BurstState& state, uint64_t units);
void cost_gap_ends(uint64_t units);
// A thread begins to build a block, and has built it.
void cost_block_begins(BurstState& state);
void cost_block_built(const BurstState& state);

// The level of the share (ShardHeader::burst_levels) at which the cost is the wanted one.
uint32_t affordable_level();
// Writes the estimate into the shard.
void note_cost();

// The recorder's own work for a thread, from here to the end of the scope. In bursts it is part of
// their time.
class OwnWork {
  public:
    explicit OwnWork(const ThreadRecorder* recorder);
    ~OwnWork();
    OwnWork(const OwnWork&) = delete;
    OwnWork& operator=(const OwnWork&) = delete;

  private:
    uint64_t began_;  // in ticks; 0: it is not measured
};

}  // namespace numascape
