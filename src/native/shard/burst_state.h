// SPDX-License-Identifier: Apache-2.0
//
// How much of a thread's work is counted, if only bursts are.
#pragma once

#include <cstdint>

#include "shard_layout.h"

namespace numascape {

// What a thread did while one share of its work was counted. Numbers are in units of work.
struct BurstWork {
    uint64_t units;          // before the present burst or gap
    uint64_t counted_units;  // of these, in bursts
    uint64_t bursts;
    uint64_t burst_units;  // the length of the last bursts
};

// The share of a thread's work that is counted; see binary-recorder/bursts.h. Numbers are in units
// of work.
struct BurstState {
    const int64_t* left;  // of the present burst or gap; null: everything is counted
    BurstWork work[kMaxBurstLevels];
    uint64_t length;  // of the present burst or gap
    uint64_t rest;    // of the period before, which the present gap begins with
    uint64_t random;
    uint64_t offset;        // of the next burst, or of the last one, in its period
    uint64_t first_length;  // of a burst in which the thread begins; otherwise 0
    uint64_t began;         // the time at which the last burst began, in ticks
    uint64_t began_ns;      // the same in CPU time of the thread, if a cost is held
    uint64_t ended_ns;      // its end
    uint64_t gap_ns;        // CPU time of the gap before it
    uint64_t gap_done;      // units of this gap
    uint64_t burst_units;   // the length of the bursts, which grows
    uint64_t gap_units;     // that of the gaps: the share's part of a period
    uint64_t build_began;   // the time at which the last block was begun to be built, in ticks
    uint32_t equal_bursts;  // of this length
    uint32_t number;        // of the last burst's level and group, in the numbers of a phase
    uint32_t level;         // of the share in the present period
    uint32_t rest_level;    // of the period before
    bool counting;          // in a burst

    // So many units of the present burst or gap were done.
    void add(uint64_t done) {
        const uint64_t before = counting || done < rest ? done : rest;
        BurstWork& earlier = work[counting ? level : rest_level];
        earlier.units += before;
        earlier.counted_units += counting ? before : 0;
        work[level].units += done - before;
    }
};

}  // namespace numascape
