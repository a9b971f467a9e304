// SPDX-License-Identifier: Apache-2.0
//
// The layout of the two files of a shard (the picture is in shard_format.h): sizes, the header of
// the process, the owners of tables, and the chunks of the log.
#pragma once

#include <cstdint>

#include "pages.h"

namespace numascape {

inline constexpr char kShardMagic[8] = {'N', 'U', 'M', 'A', 'S', 'H', 'R', 'D'};
inline constexpr uint32_t kShardVersion = 14;

inline constexpr uint64_t kTableBytes = kWindowPages * 16;  // 4 GiB
inline constexpr uint32_t kCounters = 1 << 22;
inline constexpr uint64_t kCountersBytes = uint64_t{kCounters} * 16;  // 64 MiB
inline constexpr uint64_t kTableStride = kCountersBytes + kTableBytes;

inline constexpr uint32_t kMaxTables = 16384;  // one per living thread and phase
inline constexpr uint32_t kMaxPhases = 65536;
inline constexpr uint32_t kMaxBurstLevels = 10;
inline constexpr uint64_t kOwnersOffset = kPageBytes;
inline constexpr uint64_t kLogOffset = 256 * 1024;
inline constexpr uint64_t kChunkBytes = 64 * 1024;

enum ShardFlags : uint32_t {
    kShardEnded = 1,             // the process ended in a way the recorder saw
    kShardDiskFull = 2,          // counts of pages first used after that moment are missing
    kShardThreadsLost = 4,       // more than kMaxTables live threads: the others were not counted
    kShardDetached = 8,          // recording stopped before the process ended
    kShardReplaced = 16,         // the process called exec; its new image has a shard of its own
    kShardAttached = 32,         // recording began during the run: earlier events are unknown
    kShardChildrenLost = 64,     // a forked process could not write its shard
    kShardPhasesFolded = 128,    // some phases are counted together, as the last one
    kShardBlocksLost = 256,      // more basic blocks than kCounters: the others have no lines
    kShardCallsForbidden = 512,  // the process forbade system calls (seccomp): only counts follow
    kShardStacksCut = 1024,      // some call stacks were not distinguished: see call_stack_log.h
    kShardRegionsLost = 2048,    // more memory regions at a time than memory_regions.h can follow
    kShardFrames = 4096,         // there are StackFrameRecords
    kShardCallersCut = 8192,     // some callers were not distinguished: see touch_callers.h
};

struct ShardHeader {
    char magic[8];
    uint32_t version;
    uint32_t flags;  // ShardFlags
    uint32_t pid;
    uint32_t parent_pid;
    uint64_t start_ticks;
    uint64_t start_ns;
    uint64_t last_ticks;  // refreshed with every chunk and at the end
    uint64_t last_ns;
    uint32_t chunks;   // chunks handed out so far
    uint32_t threads;  // threads seen so far; thread ids are 0 .. threads - 1
    uint32_t tables;   // tables ever used: 0 .. tables - 1
    // 0: all accesses are counted. Otherwise only those in bursts (binary-recorder/bursts.h): each
    // phase has so many numbers for each level, one for each group of bursts, and its own is the
    // first of them.
    uint32_t burst_groups;
    char parent_shard[64];  // file name of the shard forked from, or ""
    char program[1024];     // path of the executable
    // If the share of the work that is counted changes: the number of its levels, and an estimate
    // of the CPU time without the recorder so far. Bursts of level n have 1 / 2^(n + 1) of the
    // work. Otherwise 1 and 0.
    uint32_t burst_levels;
    uint32_t reserved;
    uint64_t native_ns;
};
static_assert(sizeof(ShardHeader) <= kPageBytes);

// The thread and the phase whose counts the table contains: phase << 32 | thread + 1; the highest
// bit is set in a table of lines. The lower half is 0 if the table is free; the phase is then that
// of its block counters, which are kept. Setting the lower half to 0 commits the end of a thread.
// Before, the counts in the table are valid. Afterwards, the Counts records that were written at
// the end of the thread are valid.
using TableOwner = uint64_t;
inline constexpr TableOwner table_owner(uint32_t thread, uint32_t phase) {
    return TableOwner{phase} << 32 | (thread + 1);
}
inline constexpr TableOwner kOwnsLines = TableOwner{1} << 63;
static_assert(kOwnersOffset + kMaxTables * sizeof(TableOwner) <= kLogOffset);

enum class ChunkKind : uint32_t {
    kLog = 1,
    kSmallBlocks = 2,
    kSamples = 3,
    kTransfers = 4,
    kKernelAccesses = 5,
};

struct ChunkHeader {
    uint32_t kind;    // ChunkKind
    uint32_t thread;  // who writes the first records; see WriterRecord
    uint32_t used;    // bytes including this header; records after them are not complete
    uint32_t reserved;
};

}  // namespace numascape
