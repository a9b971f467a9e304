// SPDX-License-Identifier: Apache-2.0
//
// What the writer of a shard knows of each thread. There is one ThreadRecorder per thread; all zero
// is a valid one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "block_counters.h"
#include "burst_state.h"
#include "cache_model.h"
#include "call_frame_rule.h"
#include "held_ranges.h"
#include "page_counters.h"
#include "shard_format.h"
#include "table_word.h"

namespace numascape {

struct ThreadRecorder;

// One thread's counters in one phase.
struct CountTable {
    PageCounter* page_counters;  // null: never mapped
    GranuleSet* granules;        // which parts of `page_counters` are in use
    CounterSet* counters;        // which block counters are in use; kept when the table is unmapped
    ThreadRecorder* thread;      // null: free
    CountTable* lines;           // the same thread's and phase's table of lines; null: none
    bool of_lines;               // this is a table of lines
    uint32_t phase;              // the last one, when it is free
    uint32_t next;               // the thread's next table: index + 1, 0 = none
    uint64_t instructions;       // in its block counters when a thread last left it
};

// How a thread samples the structures that its instructions touch; see block_heads.h.
struct Sampling {
    PageCounter* table;  // all zero between samples; null until the first
    ChunkHeader* chunk;  // this thread's kSamples chunk, null until the first
    uint64_t weight;     // executions that the sample in progress stands for, 0 = none
    uint32_t block;      // ... of this block
    uint32_t begun;      // samples so far
    uint32_t logged;     // sample records that left the chunk for the log
    uint32_t random;
};

// The lines that a thread took from others; see shared_lines.h.
struct TransferLog {
    ChunkHeader* chunk;  // this thread's kTransfers chunk, null until the first
    uint32_t logged;     // records that left the chunk for the log
};

// The memory that system calls read and wrote for a thread; see kernel_accesses.cpp.
struct KernelAccessLog {
    ChunkHeader* chunk;  // this thread's kKernelAccesses chunk, null until the first
    uint32_t logged;     // records that left the chunk for the log
    uint32_t parts;      // since the last recorded one; see kLoggedPerShift
};

// The callers of a thread's last first touch, and what they were found from; see touch_callers.h.
struct LastCallers {
    static constexpr uint32_t kMaxWords = 96;
    struct Word {
        uint64_t address;
        uint64_t value;
    };
    CallFrame innermost;  // all zero: none
    uint64_t id;
    uint32_t code_changes;
    uint32_t words;  // of the stack that were read; more than kMaxWords: not all are noted
    Word word[kMaxWords];
};

inline constexpr size_t kCopiedStackWords = 512;

struct ThreadRecorder {
    std::atomic<CountTable*> current;  // where it counts now; null: not counted (kShardThreadsLost)
    const void**
        table_word;  // where the counting code finds current->page_counters; null: nowhere yet
    TableWord* table_words;  // further such places
    GranuleSet* granules;    // parts in use in any of its tables
    ChunkHeader* chunk;      // where the next record goes, null before the first
    ChunkHeader* small;      // this thread's kSmallBlocks chunk, null before the first small block
    CacheModel* cache;       // null: none is modelled
    HeldRanges held;
    ThreadRecorder* next;  // in the list of counted threads
    uint32_t first_table;  // index + 1
    uint32_t thread;
    uint32_t os_tid;
    uint64_t thread_pointer;  // 0: unknown
    uint64_t stack_start;
    uint64_t stack_end;
    uint64_t python_state;  // see python_frames.h
    Sampling sampling;
    TransferLog transfers;
    KernelAccessLog kernel_accesses;
    BurstState bursts;
    LastCallers last_callers;
    uint64_t stack_copy[kCopiedStackWords];  // see stack_words.h
    uint16_t table_of_phase[kMaxPhases];     // index + 1, 0 = none; mostly untouched memory
};
static_assert(kMaxTables <= 0xffff);

}  // namespace numascape
