// SPDX-License-Identifier: Apache-2.0
//
// Heap blocks of at least a page are followed individually: their counts are taken out of the
// tables before their addresses are reused. Smaller blocks are added up by page and call stack.
#pragma once

#include <atomic>

#include "memory_regions.h"
#include "shard_writer.h"

namespace numascape {

// An allocation that returned.
struct Allocation {
    uint64_t address;
    uint64_t bytes;
    uint64_t stack_id;
    uint64_t mapped_start;  // mapping that the allocator made for it, or empty
    uint64_t mapped_end;
};

class HeapBlocks {
  public:
    // When a block is freed, the memory regions inside it end, too.
    constexpr HeapBlocks(ShardWriter& shard, MemoryRegions& regions)
        : shard_(shard), regions_(regions) {}
    // Allocates its memory; false if there is none.
    bool open();
    // Frees its memory. It must not be used any more.
    void close();
    void add(ThreadRecorder& recorder, const Allocation& allocation);
    // Moves the block's counts out of the tables. Must run before the allocator gets the block
    // back. Returns the bytes of a block of a page or more, else 0.
    uint64_t drop(ThreadRecorder& recorder, uint64_t address);
    void write_live(ThreadRecorder& recorder, uint64_t time);
    void after_fork() { lock_.reset(); }
    // Called before and after a fork, if the fork is known beforehand.
    void lock() { lock_.lock(); }
    void unlock() { lock_.unlock(); }
    // u32 by window page, not zero where a block of a page or more begins.
    const void* entries() const { return entry_; }

  private:
    struct Block {
        uint64_t address;  // 0: the entry is free
        uint64_t bytes;
        uint64_t exclusive_start;
        uint64_t exclusive_end;
        uint64_t stack_id;
        uint32_t next_free;
    };
    static Block describe(const Allocation& allocation);
    void write(ThreadRecorder& recorder, const Block& block, uint64_t time);
    uint32_t take_entry();

    // At most one block of a page or more begins in a page: entries are found by that page.
    static constexpr uint32_t kMaxBlocks = 1u << 24;
    ShardWriter& shard_;
    MemoryRegions& regions_;
    SpinLock lock_;
    // By window page: the index of the block that begins there.
    std::atomic<uint32_t>* entry_ = nullptr;
    Block* blocks_ = nullptr;  // entry 0 is not used
    uint32_t used_entries_ = 1;
    uint32_t free_entry_ = 0;
};

}  // namespace numascape
