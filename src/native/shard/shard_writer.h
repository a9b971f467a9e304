// SPDX-License-Identifier: Apache-2.0
//
// Writes a shard from inside the recorded process. There is one ShardWriter per process and one
// ThreadRecorder per thread. This code uses no C library, no memory of the program's heap and no
// vector registers. It writes to shared file mappings, so what it has written survives a killed
// process.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "accessing_code.h"
#include "block_counters.h"
#include "cache_model.h"
#include "os.h"
#include "own_file.h"
#include "page_counters.h"
#include "shard_format.h"
#include "shared_lines.h"
#include "spin_lock.h"
#include "table_word.h"
#include "thread_recorder.h"

namespace numascape {

// The address of the tables. It is far from the addresses that Linux gives a program's mappings,
// because these must stay within one 2^40 window.
inline constexpr uint64_t kTablesBase = 0x1000'0000'0000;

// The site of an access of which no sample is recorded.
inline constexpr uint32_t kNoSite = ~uint32_t{0};

class ShardWriter {
  public:
    // Takes both files, empty and open for reading and writing. `parent` is the name of the shard
    // this process was forked from, or "". Returns false when the header cannot be written.
    bool open(int shard_file, int tables_file, const char* program, const char* parent,
              uint32_t flags);

    // In the child of a fork, on its only thread: continues in new files with empty counts. The
    // present table of the thread keeps its address. The caller must write live structures again.
    bool reopen_after_fork(ThreadRecorder& self, int shard_file, int tables_file,
                           const char* program, const char* parent);

    // The function that lets a file grow; it returns a negative number on failure. By default, a
    // file grows within the limit of the process.
    using GrowFile = long (*)(int file, uint64_t bytes);
    void grow_files_by(GrowFile grow) { grow_file_ = grow; }

    // Only bursts are counted, in so many groups for each level of the share. Called before `open`.
    void count_bursts(uint32_t groups, uint32_t levels) {
        burst_groups_ = groups;
        burst_levels_ = levels;
    }
    uint32_t burst_groups() const { return burst_groups_; }
    // The distance between the numbers of two phases: see ShardHeader::burst_groups.
    uint32_t phase_step() const { return burst_groups_ == 0 ? 1 : burst_groups_ * burst_levels_; }
    // The thread counts for this level and group of bursts from now on.
    void choose_group(ThreadRecorder& self, uint32_t level, uint32_t group);
    // Whether the thread can count for all groups of this level.
    bool has_room_for_level(ThreadRecorder& self, uint32_t level);
    // Writes how much work all threads did that have not ended.
    void log_work_at_end(ThreadRecorder& self);

    // Threads that start from now on have a modelled cache.
    void model_caches(const CacheShape& shape) {
        cache_shape_ = shape;
        wide_vectors_ = CacheModel::wide_vectors_here();
        shared_lines_.open(shape.line_bits);
    }
    // They are not open without modelled caches, or if there is not enough address space.
    const SharedLines& shared_lines() const { return shared_lines_; }
    const CacheShape& cache_shape() const { return cache_shape_; }

    // A recorder for the calling thread; null only when out of memory.
    ThreadRecorder* start_thread(uint64_t stack_start, uint64_t stack_end);
    // Records where the thread-local variables are. Called when this is known, and when it changes.
    void log_thread_pointer(ThreadRecorder& self, uint64_t pointer);
    // A recorder that only writes records. It is for a thread that is not counted and does not
    // belong to the program. Null only when out of memory.
    ThreadRecorder* start_writer();
    void end_writer(ThreadRecorder* self);
    // A modelled cache for a writer that executes code of the program: it counts nothing. False
    // when out of memory.
    bool give_cache(ThreadRecorder& writer);
    // From now on, `word` holds the address of the thread's page counters in the current phase.
    void publish_table(ThreadRecorder& self, const void** word);
    void publish_table(ThreadRecorder& self, TableWord& word);
    // The words at this distance from each thread's thread pointer must not be used any more.
    void withdraw_table(int64_t word);
    // Writes the thread's counts as records. Its recorder and tables are for the next threads.
    void end_thread(ThreadRecorder* self, const char* name);

    // All threads count for `phase` from now on. A thread that is in the middle of a basic block
    // may still count its accesses for the previous phase.
    void switch_phase(ThreadRecorder& self, uint32_t phase);
    uint32_t current_phase() const { return current_phase_; }
    // How often the counts of the phase were written to the log because no tables were left.
    uint32_t evictions(uint32_t phase) const { return evictions_[phase]; }
    // At most this many tables are used; for tests.
    void limit_tables(uint32_t most) { max_tables_ = most < kMaxTables ? most : kMaxTables; }
    // Notes the end of a thread, and its name. With kThreadEndsProcess, its tables stay as they
    // are.
    void note_end(ThreadRecorder& self, const ThreadRecorder& of, const char* name,
                  ThreadEndFlags flags);

    // Room for one record of `bytes` (header included); the header is filled in. Call `commit`
    // with the same record once its fields are written. Never null: with a full disk, records go
    // to memory that is thrown away.
    void* append(ThreadRecorder& self, RecordType type, uint32_t id, size_t bytes,
                 uint8_t flags = 0);
    void commit(ThreadRecorder& self, const void* record);

    // The page counter of `page` in `page_counters` counted its first read or its first write, by
    // `code`. Notes it if it is the first touch of the page, or its first write after reads.
    void touch(ThreadRecorder& self, const PageCounter* page_counters, uint32_t page,
               const AccessingCode& code);
    // The same if no record can be written: the touch is lost, but the counts are not.
    void use_page_counters(ThreadRecorder& self, const PageCounter* page_counters, uint32_t page);
    // A system call for this thread read or wrote the page. `code` is the kernel's.
    void touch_by_kernel(ThreadRecorder& self, uint32_t page, bool writes,
                         const AccessingCode& code);
    // A system call for this thread read or wrote these bytes: counts them, besides the touches.
    void access_by_kernel(ThreadRecorder& self, uint64_t start, uint64_t bytes, bool writes);
    // Counts accesses outside the inlined path; `address` may be unaligned, `bytes` > 0. Adds to
    // every page touched.
    void count(ThreadRecorder& self, uint64_t address, uint64_t bytes, uint64_t reads,
               uint64_t writes, const AccessingCode& code);

    // --- Lines that travel between threads (transfers.cpp).
    // The thread makes these accesses to a line that was not in its filter until now.
    void use_line(ThreadRecorder& self, uint64_t line, const SharedLines::Access* access,
                  uint32_t accesses);
    // No thread holds lines of the window pages [first, end) any more.
    void forget_lines(uint32_t first, uint32_t end) {
        if (shared_lines_.is_open()) {
            shared_lines_.forget(first, end);
        }
    }

    // Processes and counts the lines that wait for the thread's modelled cache. `own`: called on
    // that thread.
    void drain_misses(ThreadRecorder& of, bool own);
    // Counts all accesses of the thread that are not in page counters yet. Must be called before
    // page counters are read.
    void flush_pending(ThreadRecorder& of, bool own);
    // The same for all threads, at the end of the process.
    void flush_at_end(const ThreadRecorder* self);

    // Moves all threads' counts of the window pages [first, end) into records of time `time`.
    void retire(ThreadRecorder& self, uint32_t first, uint32_t end, uint64_t time);
    // The kernel will provide these pages again: their next access is a first touch.
    void forget_touches(uint32_t first, uint32_t end);
    void query_placement(ThreadRecorder& self, uint64_t start, uint64_t end, uint64_t time);

    // `bytes` must be at most a page: the block is on one page or two.
    void add_small_block(ThreadRecorder& self, uint64_t address, uint64_t bytes, uint64_t stack_id);

    // --- Source lines (line_counts.cpp).
    // Describes a block, whose accesses' sites are block << kPlaceBits | place.
    void write_block(ThreadRecorder& self, uint32_t block, uint16_t instructions,
                     const BlockAccess* access, uint32_t accesses);
    // Called when the counter of the block ran out in the table of these page counters. Loads it
    // with the number of executions until the next sample. True: this execution must be sampled.
    bool begin_sample(ThreadRecorder& self, PageCounter* page_counters, uint32_t block);
    // Adds to the sample in progress: the site touched the page `weight` times. `whole`: the number
    // is exact, not an estimate.
    void note_sample(ThreadRecorder& self, uint32_t site, uint32_t page, const SeenParts& seen,
                     uint64_t weight, bool whole);
    // A sampled execution counted its access to the page in the sampling table. Counts the access
    // in the thread's current table, too, as without sampling. `site` may be kNoSite.
    void count_sample(ThreadRecorder& self, uint32_t page, const AccessingCode& code, uint32_t site,
                      const SeenParts& seen);
    // Whether an execution that touches a page this many times is recorded, although it is not a
    // sample.
    static bool always_noted(const ThreadRecorder& self, uint64_t times);
    // A counter of a table, after disk space for it is allocated.
    template <typename Counter>
    Counter& counter(const CountTable& table, uint32_t number) {
        back_counter(table, number);
        return counter_at<Counter>(table.page_counters, number);
    }

    // Frees all memory when no thread counts any more but the process continues. The recorded data
    // are in the files.
    void close();

    // The paths of the files that `open` gets next, to open them again if the program closes them.
    // The texts must remain valid.
    void name_files(const char* shard_path, const char* tables_path) {
        shard_path_ = shard_path;
        tables_path_ = tables_path;
    }
    // In the child of a fork, before it opens its own files.
    void close_files_of_parent();
    // False in a child of vfork, which has its parent's memory.
    bool is_of_this_process() const;

    // Called before and after a fork, so that the child has no half-made change.
    void lock() { registry_lock_.lock(); }
    void unlock() { registry_lock_.unlock(); }

    // From now on, no system call is made, because the kernel could kill the process for it. The
    // log has only the room that is allocated here. It is not for threads that begin later.
    void make_no_calls(ThreadRecorder* self);
    bool makes_calls() const { return !quiet_.load(std::memory_order_relaxed); }
    // The process did not forbid system calls: they are possible again.
    void make_calls();

    void set_flag(ShardFlags flag);
    void clear_flag(ShardFlags flag);
    void stamp();  // refreshes the header's last time
    uint64_t start_ns() const { return header_->start_ns; }
    // An estimate of the CPU time without the recorder so far.
    void note_native_ns(uint64_t estimate) {
        std::atomic_ref(header_->native_ns).store(estimate, std::memory_order_relaxed);
    }
    bool owns(uint64_t address) const;
    // The disk had no room for a page of a table: replaces the page by memory, so that the program
    // continues, and sets kShardDiskFull. False if the address is not in a table.
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
    // For recorders that count no accesses. First touches are then unknown here, so the nodes of
    // all pages are recorded. The tables are mapped inaccessible, because the kernel's NUMA
    // balancing scans all accessible memory, even if it is sparse.
    void count_nothing() { counts_nothing_ = true; }

  private:
    void add_small_part(ThreadRecorder& self, uint64_t address, uint64_t bytes, uint64_t blocks,
                        uint64_t stack_id);
    // --- shard_threads.cpp
    ThreadRecorder* take_recorder();
    void keep_recorder(ThreadRecorder* ended);
    static void unmap_chunks(ThreadRecorder& recorder);
    void unmap_recorder(ThreadRecorder* recorder);

    ChunkHeader* new_chunk(ThreadRecorder& self, ChunkKind kind);
    void* extend_log(uint32_t chunks);
    void* reserved_chunk();
    uint64_t ticks();
    void note_touch(ThreadRecorder& self, uint32_t page, const AccessingCode& code, uint32_t phase,
                    uint8_t now, uint8_t flags);
    // Takes disk space for the page of the table's memory `offset` bytes from its first
    // page counter.
    void back_page(const CountTable& table, int64_t offset);
    void back_counter(const CountTable& table, uint32_t number);
    void flush_counters(ThreadRecorder& self, CountTable& table);
    void note_instructions(uint32_t block, uint16_t instructions);
    uint64_t instructions_in(const CountTable& table) const;
    void write_instructions(ThreadRecorder& self, const CountTable& table, uint64_t instructions);
    void write_work(ThreadRecorder& self, const ThreadRecorder& of);
    uint32_t phase_of(const CountTable& table) const {
        return table.phase - table.phase % phase_step();
    }

    void note_transfer(ThreadRecorder& self, const Transfer& transfer);
    void note_kernel_access(ThreadRecorder& self, const KernelAccessRecord& access);
    void count_traffic(ThreadRecorder& of, const CacheModel::Traffic* traffic, uint32_t count);

    // --- count_tables.cpp; all but table_at with registry_lock_ held
    CountTable& table_at(ThreadRecorder& self, const PageCounter* page_counters);
    CountTable* table_for(ThreadRecorder& self, ThreadRecorder& thread, uint32_t phase);
    CountTable* take_table(ThreadRecorder& self, ThreadRecorder& thread, uint32_t phase,
                           bool of_lines);
    CountTable* free_table();
    bool evict_oldest_phase(ThreadRecorder& self);
    void unlink_table(CountTable& table);
    void flush_table(ThreadRecorder& self, CountTable& table, uint64_t time);
    void release_table(ThreadRecorder& self, CountTable& table);
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
    ThreadRecorder* idle_threads_ = nullptr;   // recorders of ended threads
    std::atomic<uint8_t>* touched_ = nullptr;  // by window page: kUsed, kWritten
    uint64_t* phase_used_ = nullptr;           // by phase: number of the switch that last began it
    uint8_t* evictions_ = nullptr;             // by phase
    std::atomic<uint16_t*> instructions_{nullptr};  // by block; null: none are known
    uint64_t switches_ = 0;
    CacheShape cache_shape_;
    SharedLines shared_lines_;
    bool wide_vectors_ = false;
    uint32_t current_phase_ = 0;
    uint32_t burst_groups_ = 0;
    uint32_t burst_levels_ = 1;
    uint32_t first_free_ = 0;  // all tables before it are in use
    uint32_t max_tables_ = kMaxTables;
    bool counts_nothing_ = false;
    GrowFile grow_file_ = [](int file, uint64_t bytes) {
        return os::beyond_file_limit(bytes) ? -long{EFBIG} : os::truncate(file, bytes);
    };
    const char* shard_path_ = nullptr;
    const char* tables_path_ = nullptr;
    OwnFile shard_file_;
    OwnFile tables_file_;
    SpinLock registry_lock_;
    std::atomic<bool> disk_full_{false};
    std::atomic<bool> quiet_{false};
    static constexpr uint32_t kReservedChunks = 16;
    std::atomic<uint32_t> reserved_used_{0};
    char* reserved_ = nullptr;
    char* wasted_ = nullptr;  // records without room are written here and lost
    std::atomic<uint64_t> owners_changed_{
        0};  // when a page may have lost its owner, or a thread began
};

}  // namespace numascape
