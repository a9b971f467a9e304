// SPDX-License-Identifier: Apache-2.0
//
// The parts of memory that the program names (include/numascape/region.h). The replay
// decides to which region a page belongs (replay/region_pages.h). Here, the counts of the pages are
// moved to the log when they get another owner, and a list of the present regions is kept for the
// child of a fork. Regions smaller than a page are added up by page and name; they are followed
// only where a larger one begins.
#pragma once

#include <cstdint>

#include "shard_writer.h"

namespace numascape {

class MemoryRegions {
  public:
    constexpr explicit MemoryRegions(ShardWriter& shard) : shard_(shard) {}
    // The program's code at `pc` named a region; with 0 bytes, it ended one. `name` is the address
    // of the name in the program's memory. Allocates memory at the first call.
    void told(ThreadRecorder& recorder, uint64_t pc, uint64_t name, uint64_t address,
              uint64_t bytes);
    // The program freed or unmapped this memory: regions in it end. They need no records, because
    // the record of the free or unmap ends them, too.
    void memory_ends(uint64_t start, uint64_t bytes);
    void write_live(ThreadRecorder& recorder, uint64_t time);
    void after_fork() { lock_.reset(); }
    // Called before and after a fork, if the fork is known beforehand.
    void lock() { lock_.lock(); }
    void unlock() { lock_.unlock(); }
    // Frees the memory, when the program is not recorded any more.
    void close();

  private:
    struct Region {
        uint64_t address;
        uint64_t bytes;  // 0: it has ended
        uint64_t name_id;
        uint32_t before;  // with a start in the same page's bucket: index + 1, 0 = none
    };
    static constexpr uint32_t kMaxRegions = 1 << 20;
    static constexpr uint32_t kBuckets = 1 << 16;
    static constexpr uint32_t kMaxNames = 1 << 16;

    bool open();
    uint32_t& bucket(uint64_t page) { return buckets_[page % kBuckets]; }
    Region* find(uint64_t address);
    bool is_new(uint64_t name_id);
    uint64_t identify(ThreadRecorder& recorder, uint64_t pc, uint64_t name);
    void begin(ThreadRecorder& recorder, const Region& region);
    void end(ThreadRecorder& recorder, uint64_t address);
    void move_counts(ThreadRecorder& recorder, const Region& region, uint64_t time, bool ended);
    void write(ThreadRecorder& recorder, const Region& region, uint64_t time);
    bool add(const Region& region);
    void end_within(uint64_t start, uint64_t bytes);
    void link(uint32_t index);
    void compact();

    ShardWriter& shard_;
    SpinLock lock_;
    Region* regions_ = nullptr;    // in the order in which they began
    uint32_t* buckets_ = nullptr;  // the last region that begins in the page: index + 1
    uint64_t* names_ = nullptr;    // identifiers with a record; open addressing
    uint32_t used_ = 0;
    uint32_t live_ = 0;
    uint32_t name_count_ = 0;
};

}  // namespace numascape
