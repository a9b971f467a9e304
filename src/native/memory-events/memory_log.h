// SPDX-License-Identifier: Apache-2.0
//
// Writes the effects of system calls on memory to the shard, for both recorders.
//
// The invariant: the counts in a page's counters belong to the present owner of the page. Therefore
// the counts of all pages that a call may remove move from the tables to the log *before* the call,
// with the time of that moment. Another thread can get these addresses only later.
//
// The records about the ends of mappings are written *after* the call, and only if it succeeded,
// but with the time before the call. The shard is replayed in the order of times. A mapping that
// another thread made there in the meantime therefore begins after the old one ended, independent
// of the order of writing.
//
// If the call fails, nothing more is written. The counts in the log belong to the same owner as
// before. The recorder has forgotten the first touches of these pages, so their records are written
// a second time. The replay knows that the pages never went away, and keeps the first record.
//
// A child of vfork, and a thread of clone, change the memory of the process in which they run. The
// effects go to the shard of this process. Nothing here depends on which thread or process calls.
#pragma once

#include <cstdint>

#include "memory_calls.h"
#include "memory_regions.h"
#include "process_maps.h"
#include "shard_writer.h"

namespace numascape {

// A system call, kept from the moment before the call until the moment after it.
struct PendingCall {
    SystemCall call;
    uint64_t time;         // in ticks, before the call
    uint64_t stack_id;     // of the code that made it, 0 = not known
    AccessingCode kernel;  // which makes the call's accesses
};

struct AddressRange {
    uint64_t start;
    uint64_t bytes;  // 0: there is none
};

class MemoryLog {
  public:
    using ReadMemory = bool (*)(uint64_t address, void* into, size_t bytes);
    // `regions` end with the mapping that they are in.
    constexpr MemoryLog(ShardWriter& shard, MemoryRegions& regions, ReadMemory read)
        : shard_(shard), regions_(regions) {
        state_.read = read;
    }

    // `pending.call` is filled in, and `stack_id` if it makes a mapping.
    void before(ThreadRecorder& recorder, PendingCall& pending);
    // `pending.kernel` is filled in. `result` is the result of the kernel: -errno if the call
    // failed. Returns the range that the call mapped.
    AddressRange after(ThreadRecorder& recorder, const PendingCall& pending, long result,
                       bool by_allocator);

    // The kernel accessed these bytes for the thread, in a call that the table does not have.
    void touched_by_kernel(ThreadRecorder& recorder, uint64_t start, uint64_t bytes, bool writes,
                           const AccessingCode& kernel = {});

    // A mapping of /proc/self/maps that was made before the recording began. Segments of System V
    // are remembered, because shmdt does not say how long they are.
    void was_mapped(const MappedRange& range);
    // Follows brk from now on; the program's break is at `end`. If the C library moves the break
    // itself, the new memory below it is found when an address in it is allocated.
    void follow_break(uint64_t end);
    void follow_break_to(ThreadRecorder& recorder, uint64_t address);
    void after_fork() { state_.segments.reset_lock(); }
    // Called when the recorder leaves a process that continues.
    void close() { state_.segments.close(); }

  private:
    void map(ThreadRecorder& recorder, const PendingCall& pending, const Effect& effect,
             bool by_allocator);
    void unmap(ThreadRecorder& recorder, uint64_t time, uint64_t start, uint64_t bytes);
    void move(ThreadRecorder& recorder, const PendingCall& pending, const Effect& effect);
    void advise(ThreadRecorder& recorder, const Effect& effect);

    ShardWriter& shard_;
    MemoryRegions& regions_;
    MemoryState state_{};
};

}  // namespace numascape
