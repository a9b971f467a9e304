// SPDX-License-Identifier: Apache-2.0
//
// Chooses the current phase: the last mark of the program, if there is one; else the running
// parallel region; else none. With time slices, only the clock decides.
#pragma once

#include "phase_log.h"
#include "spin_lock.h"

namespace numascape {

class PhaseChoice {
  public:
    constexpr explicit PhaseChoice(ShardWriter& shard) : shard_(shard), phases_(shard) {}
    bool open() { return phases_.open(); }
    // The first region of the process begins, or its last one ends.
    void region_began(ThreadRecorder& recorder, uint64_t function, uint64_t caller);
    void region_ended(ThreadRecorder& recorder);
    // The program came to a mark; `name` is an address in its memory, or 0.
    void mark_reached(ThreadRecorder& recorder, uint64_t pc, uint64_t name);
    // Begins the present time slice, if it is not the current phase. Slices have a length of
    // `every_ns`, counted from `session_begin` (CLOCK_REALTIME ns). Returns how long the slice
    // still lasts.
    uint64_t follow_clock(ThreadRecorder& recorder, uint64_t session_begin, uint64_t every_ns);
    void after_fork(ThreadRecorder& self);
    // Called before and after a fork, if the fork is known beforehand.
    void lock() { lock_.lock(); }
    void unlock() { lock_.unlock(); }
    // Frees the memory, when no thread counts any more.
    void close();

  private:
    void begin_if_other(ThreadRecorder& recorder, uint32_t phase);
    void begin_region(ThreadRecorder& recorder);

    ShardWriter& shard_;
    PhaseLog phases_;
    SpinLock lock_;
    uint32_t mark_ = 0;       // phase of the current mark, 0 = none
    PhaseIdentity region_{};  // the region that runs; kOutside = none
};

}  // namespace numascape
