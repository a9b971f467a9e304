// SPDX-License-Identifier: Apache-2.0
//
// Records of the process, its threads and its phases.
#pragma once

#include <cstdint>

#include "record_header.h"
#include "shard_layout.h"

namespace numascape {

struct ThreadStartRecord {
    RecordHeader header;
    uint64_t time;
    uint64_t stack_start;  // [start, end): its stack, or 0
    uint64_t stack_end;
    uint32_t os_tid;
    uint32_t cpu;
};

inline constexpr uint32_t kUnknownCpu = 0xffffffff;

// Where the thread's thread-local variables are: at fixed distances from this address.
struct ThreadPointerRecord {
    RecordHeader header;
    uint64_t time;
    uint64_t pointer;
};

struct ThreadEndRecord {
    RecordHeader header;  // flags = ThreadEndFlags
    uint64_t time;
    uint32_t os_tid;
    uint32_t cpu;  // kUnknownCpu: another thread wrote this
    char name[16];
};

enum ThreadEndFlags : uint8_t {
    kThreadEnds = 0,         // before the process; its counts are in the log
    kThreadEndsProcess = 1,  // with the process; its counts stay in its tables
};

struct ProcessExitRecord {
    RecordHeader header;
    uint64_t time;
};

enum class PhaseKind : uint8_t {
    kOutside,    // phase 0: everything outside the other phases
    kRegion,     // a parallel region, by its outlined function
    kMark,       // set by the program, by its name
    kTimeSlice,  // [place, caller) in ns since the session began
    kFurther,    // the last phase, for all that have no number of their own
};

// Written when the phase first begins; `end` and `repetitions` are kept up to date in place. Absent
// when a process has no phases: then everything is counted as phase 0. Followed by the name (marks
// only), NUL-terminated, padded to 8 bytes.
struct PhaseRecord {
    RecordHeader header;  // id = phase, flags = PhaseKind
    uint64_t time;        // of its first beginning
    uint64_t end;         // last time it ended, 0 = never
    uint64_t place;       // first address of the outlined function, or of the mark
    uint64_t caller;      // return address of the region's first call
    uint32_t repetitions;
    uint32_t reserved;
};

// From now on, all threads count for another phase. After some tens of thousands of switches, not
// every switch has a record.
struct PhaseSwitchRecord {
    RecordHeader header;  // id = phase
    uint64_t time;
};

// A block of the program's code is at [start, start + bytes) in the code cache from now on. Page
// faults have such addresses.
struct PlacedCodeRecord {
    RecordHeader header;
    uint64_t time;
    uint64_t start;
    uint64_t bytes;
    uint64_t pc;  // of the block in the program
};

// How much work the thread did, if only bursts are counted, and how much of it they saw. In units
// of work (binary-recorder/work_units.h). One record for each level of the share
// (ShardHeader::burst_levels) that was in force.
struct WorkRecord {
    RecordHeader header;  // id = the thread
    uint64_t units;
    uint64_t counted_units;
    uint64_t bursts;
    uint64_t burst_units;  // the length of the last bursts; the first ones were shorter
    uint64_t level;
};

}  // namespace numascape
