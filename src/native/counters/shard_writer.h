// SPDX-License-Identifier: Apache-2.0
//
// Writes a shard from inside the recorded process. One ShardWriter per process, one ThreadRecorder
// per thread. Nothing here takes libc, allocates from the program's heap or uses vector registers.
// Everything written is in a shared file mapping at once: a killed process loses nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "block_counters.h"
#include "cache_model.h"
#include "held_ranges.h"
#include "page_table.h"
#include "shard_format.h"
#include "spin_lock.h"
#include "table_word.h"

namespace numascape {

// Where tables are: far from where Linux puts a program's mappings, which must stay within one 2^40
// window.
inline constexpr uint64_t kTablesBase = 0x1000'0000'0000;

inline constexpr uint32_t kNoSite = ~uint32_t{0};  // of which no sample is noted

struct ThreadRecorder;

// One thread's counters in one phase.
struct CountTable {
    Slot* slots;             // null: never mapped
    GranuleSet* granules;    // which parts of `slots` are in use
    CounterSet* counters;    // which of its block counters are; kept when the table is unmapped
    ThreadRecorder* thread;  // null: free
    CountTable* lines;       // the same thread's and phase's table of lines; null: none
    bool of_lines;           // it is such a one
    uint32_t phase;          // the last one, when it is free
    uint32_t next;           // the thread's next table: index + 1, 0 = none
};

// How a thread finds out which structures its instructions touch; see block_heads.h.
struct Sampling {
    Slot* table;         // all zero between samples; null until the first
    ChunkHeader* chunk;  // this thread's kSamples chunk, null until the first
    uint64_t weight;     // executions that the sample in progress stands for, 0 = none
    uint32_t block;      // ... of this block
    uint32_t begun;      // samples so far
    uint32_t logged;     // sample records that left the chunk for the log
    uint32_t random;
};

struct ThreadRecorder {
    std::atomic<CountTable*> current;  // in force; null: not counted (kShardThreadsLost)
    const void** table_word;  // where the counting code finds current->slots; null: nowhere yet
    TableWord* table_words;   // further such places
    GranuleSet* granules;     // parts in use in any of its tables
    ChunkHeader* chunk;       // where the next record goes, null before the first
    ChunkHeader* small;       // this thread's kSmallBlocks chunk, null before the first small block
    CacheModel* cache;        // null: none is modelled
    HeldRanges held;
    ThreadRecorder* next;  // in the list of counted threads
    uint32_t first_table;  // index + 1
    uint32_t thread;
    uint32_t os_tid;
    uint64_t stack_start;
    uint64_t stack_end;
    Sampling sampling;
    uint16_t table_of_phase[kMaxPhases];  // index + 1, 0 = none; mostly untouched memory
};
static_assert(kMaxTables <= 0xffff);

class ShardWriter {
  public:
    // Takes both files, empty and open for reading and writing. `parent` is the name of the shard
    // this process was forked from, or "". Returns false when the header cannot be written.
    bool open(int shard_file, int tables_file, const char* program, const char* parent,
              uint32_t flags);

    // In the child of a fork, on its only thread: continues in new files with empty counts. The
    // thread's table in force keeps its address. Live structures must be written again by the
    // caller.
    bool reopen_after_fork(ThreadRecorder& self, int shard_file, int tables_file,
                           const char* program, const char* parent);

    // Threads that start from now on have a modelled cache.
    void model_caches(const CacheShape& shape) {
        cache_shape_ = shape;
        wide_vectors_ = CacheModel::wide_vectors_here();
    }
    const CacheShape& cache_shape() const { return cache_shape_; }

    // A recorder for the calling thread; null only when out of memory.
    ThreadRecorder* start_thread(uint64_t stack_start, uint64_t stack_end);
    // A recorder that only writes records, for a thread that is not counted and not one of the
    // program's; null only when out of memory.
    ThreadRecorder* start_writer();
    // From now on `word` holds the address of the thread's slots, whatever the phase.
    void publish_table(ThreadRecorder& self, const void** word);
    void publish_table(ThreadRecorder& self, TableWord& word);
    // Writes the thread's counts as records and gives its tables to the next thread.
    void end_thread(ThreadRecorder* self, const char* name);

    // All threads count for `phase` from now on. Accesses of a basic block that a thread is in the
    // middle of may still go to the phase before.
    void switch_phase(ThreadRecorder& self, uint32_t phase);
    uint32_t current_phase() const { return current_phase_; }
    // How often the phase's counts went to the log because there were no tables left.
    uint32_t evictions(uint32_t phase) const { return evictions_[phase]; }
    // At most this many tables are used; for tests.
    void limit_tables(uint32_t most) { most_tables_ = most < kMaxTables ? most : kMaxTables; }
    // For the end of the process: the name only; tables stay as they are.
    void name_thread(ThreadRecorder& self, const ThreadRecorder& of, const char* name);

    // Room for one record of `bytes` (header included); the header is filled in. Call `commit`
    // with the same record once its fields are written. Never null: with a full disk, records go
    // to memory that is thrown away.
    void* append(ThreadRecorder& self, RecordType type, uint32_t id, size_t bytes,
                 uint8_t flags = 0);
    void commit(ThreadRecorder& self, const void* record);

    // The slot of `page` in `slots` counted its first read or its first write, at `pc`: notes the
    // page's first touch, and its first write after reads, if it is one.
    void touch(ThreadRecorder& self, const Slot* slots, uint32_t page, uint64_t pc);
    // A system call for this thread filled the page.
    void touch_by_kernel(ThreadRecorder& self, uint32_t page, uint64_t pc);
    // Counts accesses outside the inlined path; `address` may be unaligned, `bytes` > 0. Adds to
    // every page touched.
    void count(ThreadRecorder& self, uint64_t address, uint64_t bytes, uint64_t reads,
               uint64_t writes, uint64_t pc);

    // The lines that wait for the thread's modelled cache become counts. `own`: on that thread.
    void take_in_lines(ThreadRecorder& of, bool own);
    // All that the thread counted and that is in no slot yet. What looks at slots asks for it.
    void settle(ThreadRecorder& of, bool own);
    // The same of all threads, at the end of the process.
    void settle_at_end(const ThreadRecorder* self);

    // Moves all threads' counts of the window pages [first, end) into records of time `time`.
    void retire(ThreadRecorder& self, uint32_t first, uint32_t end, uint64_t time);
    // The kernel will hand out these pages anew: their next access is a first touch again.
    void forget_touches(uint32_t first, uint32_t end);
    void query_placement(ThreadRecorder& self, uint64_t start, uint64_t end, uint64_t time);

    void add_small_block(ThreadRecorder& self, uint64_t address, uint64_t bytes, uint64_t stack_id);

    // --- Source lines (line_counts.cpp).
    // Describes a block, whose accesses' sites are block << kPlaceBits | place.
    void write_block(ThreadRecorder& self, uint32_t block, const BlockAccess* access,
                     uint32_t accesses);
    // The block's counter in these slots' table ran out: it gets its next load, and this execution
    // is to be sampled if the result is true.
    bool begin_sample(ThreadRecorder& self, Slot* slots, uint32_t block);
    // Adds to the sample in progress: the site touched the page `weight` times. `whole` when that
    // is no estimate.
    void note_sample(ThreadRecorder& self, uint32_t site, uint32_t page, uint64_t weight,
                     bool whole);
    // An execution that is sampled touched the page in the sampling table: that counts where it
    // would have without. `site` may be kNoSite.
    void count_sample(ThreadRecorder& self, uint32_t page, uint64_t pc, uint32_t site);
    // Whether an execution that touches a page so many times is noted although it is no sample.
    static bool always_noted(const ThreadRecorder& self, uint64_t times);
    // A counter of a table, backed by the disk.
    template <typename Counter>
    Counter& counter(const CountTable& table, uint32_t number) {
        back_counter(table, number);
        return counter_at<Counter>(table.slots, number);
    }

    // Gives all memory back, when no thread counts any more but the process goes on. What was
    // recorded is in the files.
    void close();

    void set_flag(ShardFlags flag);
    void stamp();  // refreshes the header's last time
    uint64_t start_ns() const { return header_->start_ns; }
    bool owns(uint64_t address) const;
    // A table page could not be backed by the disk: replaces it by memory, so that the program
    // goes on; sets kShardDiskFull. False when the address is not in a table.
    bool survive_full_disk(uint64_t address);

    template <typename Visit>
    void each_thread(Visit visit) {
        SpinGuard guard(registry_lock_);
        for (ThreadRecorder* thread = threads_; thread != nullptr; thread = thread->next) {
            visit(*thread);
        }
    }
    bool touched(uint32_t page) const {
        return counts_nothing_ || touched_[page].load(std::memory_order_relaxed) != 0;
    }
    // Who touched a page is then not known here: placement is asked for all of them. Tables are
    // inaccessible, because the kernel's NUMA balancing scans all that is not, however sparse.
    void count_nothing() { counts_nothing_ = true; }

  private:
    ChunkHeader* new_chunk(ThreadRecorder& self, ChunkKind kind);
    void note_touch(ThreadRecorder& self, uint32_t page, uint64_t pc, uint32_t phase, uint8_t now,
                    uint8_t flags);
    // Takes disk space for the page of the table's memory `offset` bytes from its first slot.
    void back_page(const CountTable& table, int64_t offset);
    void back_counter(const CountTable& table, uint32_t number);
    void flush_counters(ThreadRecorder& self, CountTable& table);
    void end_sampling(ThreadRecorder& self);

    void count_traffic(ThreadRecorder& of, const CacheModel::Traffic* traffic, uint32_t count);

    // --- count_tables.cpp; all but table_at with registry_lock_ held
    CountTable& table_at(ThreadRecorder& self, const Slot* slots);
    CountTable* table_for(ThreadRecorder& self, ThreadRecorder& thread, uint32_t phase);
    CountTable* take_table(ThreadRecorder& self, ThreadRecorder& thread, uint32_t phase,
                           bool of_lines);
    CountTable* free_table();
    bool evict_oldest_phase(ThreadRecorder& self);
    void unlink_table(CountTable& table);
    void flush_table(ThreadRecorder& self, CountTable& table, uint64_t time);
    void release_table(CountTable& table, bool keep_memory);
    void retire_granule(ThreadRecorder& self, const CountTable& of, uint32_t granule,
                        uint32_t first, uint32_t end, uint64_t time);
    void retire_of(ThreadRecorder& self, ThreadRecorder& thread, uint32_t first, uint32_t end,
                   uint64_t time);
    void keep_only_table_of(ThreadRecorder& self);
    bool map_kept_table(ThreadRecorder& self);

    ShardHeader* header_ = nullptr;
    std::atomic<TableOwner>* owners_ = nullptr;
    CountTable* tables_ = nullptr;
    ThreadRecorder* threads_ = nullptr;        // those that are counted
    std::atomic<uint8_t>* touched_ = nullptr;  // by window page: kUsed, kWritten
    uint64_t* phase_used_ = nullptr;           // by phase: number of the switch that last began it
    uint8_t* evictions_ = nullptr;             // by phase
    uint64_t switches_ = 0;
    CacheShape cache_shape_;
    bool wide_vectors_ = false;
    uint32_t current_phase_ = 0;
    uint32_t first_free_ = 0;  // no table before this one is free
    uint32_t most_tables_ = kMaxTables;
    bool counts_nothing_ = false;
    bool evicted_ = false;  // some table had another thread or phase before
    int shard_file_ = -1;
    int tables_file_ = -1;
    SpinLock registry_lock_;
    std::atomic<bool> disk_full_{false};
    std::atomic<uint64_t> owners_changed_{0};  // when a page last may have lost its owner
};

}  // namespace numascape
