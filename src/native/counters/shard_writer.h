// SPDX-License-Identifier: Apache-2.0
//
// Writes a shard from inside the recorded process. One ShardWriter per process, one ThreadRecorder
// per thread. Nothing here takes libc, allocates from the program's heap or uses vector registers.
// Everything written is in a shared file mapping at once: a killed process loses nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "page_table.h"
#include "shard_format.h"
#include "spin_lock.h"

namespace numascape {

struct ThreadRecorder {
    Slot* table;           // null: this thread is not counted (kShardThreadsLost)
    GranuleSet* granules;  // which parts of `table` are in use
    ChunkHeader* chunk;    // where the next record goes, null before the first
    ChunkHeader* small;    // this thread's kSmallBlocks chunk, null before the first small block
    uint32_t table_index;
    uint32_t thread;
    uint32_t os_tid;
    uint64_t stack_start;
    uint64_t stack_end;
};

class ShardWriter {
  public:
    // Takes both files, empty and open for reading and writing. `parent` is the name of the shard
    // this process was forked from, or "". Returns false when the header cannot be written.
    bool open(int shard_file, int tables_file, const char* program, const char* parent,
              uint32_t flags);

    // In the child of a fork, on its only thread: continues in new files with empty counts. The
    // thread's table keeps its address. Live structures must be written again by the caller.
    bool reopen_after_fork(ThreadRecorder& self, int shard_file, int tables_file,
                           const char* program, const char* parent);

    // A recorder for the calling thread; null only when out of memory.
    ThreadRecorder* start_thread(uint64_t stack_start, uint64_t stack_end);
    // A recorder that only writes records, for a thread that is not counted and not one of the
    // program's; null only when out of memory.
    ThreadRecorder* start_writer();
    // Writes the thread's counts as records and gives its table to the next thread.
    void end_thread(ThreadRecorder* self, const char* name);
    // For the end of the process: the name only; tables stay as they are.
    void name_thread(ThreadRecorder& self, const ThreadRecorder& of, const char* name);

    // Room for one record of `bytes` (header included); the header is filled in. Call `commit`
    // with the same record once its fields are written. Never null: with a full disk, records go
    // to memory that is thrown away.
    void* append(ThreadRecorder& self, RecordType type, uint32_t id, size_t bytes,
                 uint8_t flags = 0);
    void commit(ThreadRecorder& self, const void* record);

    // The slot of `page` counted its first read or its first write, at `pc`: notes the page's
    // first touch, and its first write after reads, if it is one.
    void touch(ThreadRecorder& self, uint32_t page, uint64_t pc, uint8_t flags = 0);
    // Counts accesses outside the inlined path; `address` may be unaligned, `bytes` > 0. Adds to
    // every page touched.
    void count(ThreadRecorder& self, uint64_t address, uint64_t bytes, uint64_t reads,
               uint64_t writes, uint64_t pc);

    // Moves all threads' counts of the window pages [first, end) into records of time `time`.
    void retire(ThreadRecorder& self, uint32_t first, uint32_t end, uint64_t time);
    // The kernel will hand out these pages anew: their next access is a first touch again.
    void forget_touches(uint32_t first, uint32_t end);
    void query_placement(ThreadRecorder& self, uint64_t start, uint64_t end, uint64_t time);

    void add_small_block(ThreadRecorder& self, uint64_t address, uint64_t bytes, uint64_t stack_id);

    // Gives all memory back, when no thread counts any more but the process goes on. What was
    // recorded is in the files.
    void close();

    void set_flag(ShardFlags flag);
    void stamp();  // refreshes the header's last time
    bool owns(uint64_t address) const;
    // A table page could not be backed by the disk: replaces it by memory, so that the program
    // goes on; sets kShardDiskFull. False when the address is not in a table.
    bool survive_full_disk(uint64_t address);

    template <typename Visit>
    void each_thread(Visit visit) {
        SpinGuard guard(registry_lock_);
        for (uint32_t i = 0; i < header_->tables; ++i) {
            if (live_[i] != nullptr) {
                visit(*live_[i]);
            }
        }
    }
    bool touched(uint32_t page) const {
        return touched_[page].load(std::memory_order_relaxed) != 0;
    }

  private:
    ChunkHeader* new_chunk(ThreadRecorder& self, ChunkKind kind);
    Slot* take_table(ThreadRecorder& self);
    void back_granule(ThreadRecorder& self, uint32_t granule);
    void retire_granule(ThreadRecorder& self, const ThreadRecorder& of, uint32_t granule,
                        uint32_t first, uint32_t end, uint64_t time);

    ShardHeader* header_ = nullptr;
    std::atomic<TableOwner>* owners_ = nullptr;
    ThreadRecorder** live_ = nullptr;          // by table
    std::atomic<uint8_t>* touched_ = nullptr;  // by window page: kUsed, kWritten
    int shard_file_ = -1;
    int tables_file_ = -1;
    SpinLock registry_lock_;
    std::atomic<bool> disk_full_{false};
};

}  // namespace numascape
