// SPDX-License-Identifier: Apache-2.0
//
// Holds the cost of a recording of bursts: estimates the CPU time that the program would need
// without the recorder, and chooses the share of the work that may be counted.
//
// The recorder's time is measured: bursts, building blocks, following allocations and system calls,
// and the process that records page faults. All other CPU time is that of plain blocks. DynamoRIO
// has translated them, which has costs for each indirect jump, each unit of work and each call of
// the recorder (kIndirectPs ...). The rest is the time without the recorder, beside bursts. A burst
// would need as much for each unit of work as the gap before it.
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

// The thread has ended a burst or a gap of so many units.
void cost_burst_ends(BurstState& state, uint64_t units);
void cost_gap_ends(BurstState& state, uint64_t units);
// The calling thread begins to build a block, and has built it.
void cost_block_begins();
void cost_block_built(const BurstState& state);

// The level of the share (ShardHeader::burst_levels) at which the cost is the wanted one.
uint32_t affordable_level();
// Writes the estimate into the shard.
void note_cost();

// The recorder's own work for a thread, from here to the end of the scope. In bursts it is part of
// their time.
class OwnWork {
  public:
    // What it takes to come here from the program and to go back, in ns.
    static constexpr uint64_t kOfFunction = 30;
    static constexpr uint64_t kOfSystemCall = 120;  // before it, and after it
    OwnWork(const ThreadRecorder* recorder, uint64_t way_ns);
    ~OwnWork();
    OwnWork(const OwnWork&) = delete;
    OwnWork& operator=(const OwnWork&) = delete;

  private:
    uint64_t began_;  // in ticks; 0: it is not measured
    uint64_t way_ns_;
};

}  // namespace numascape
