// SPDX-License-Identifier: Apache-2.0
//
// mlockall and munlockall, for both recorders. The kernel would fill and lock all memory of the
// process, also what the recorder has reserved, which is much more than what it uses. Therefore the
// recorder makes this call for the program: it locks each of the program's mappings, now and when
// they are made. The rules are those of the kernel (mm/mlock.c of Linux 6.12).
#pragma once

#include <atomic>
#include <cstdint>

#include "memory_log.h"

namespace numascape {

class LockedMemory {
  public:
    // Calls `visit` for each mapping of the program.
    using EachMapping = void (*)(void (*visit)(const MappedRange&, void*), void* argument);

    // `unseen`: the recorder does not see all mappings that are made, for example those of the C
    // library. The kernel then locks new pages when they are touched, but only if the process has
    // no limit on locked memory.
    constexpr LockedMemory(MemoryLog& log, EachMapping each, bool unseen)
        : log_(log), each_mapping_(each), unseen_(unseen) {}

    // mlockall(flags) of the program. Returns 0 or -errno, as the kernel does.
    long lock_all(ThreadRecorder& recorder, uint64_t flags);
    // The program has made this mapping.
    void mapped(ThreadRecorder& recorder, AddressRange range, bool accessible);
    // Called after munlockall, and in the child of a fork: new memory is not locked any more.
    void end() { future_.store(Future::kFree, std::memory_order_relaxed); }

  private:
    enum class Future : uint8_t { kFree, kLocked, kLockedOnFault };

    void lock(ThreadRecorder& recorder, const MappedRange& range, bool on_fault);

    MemoryLog& log_;
    EachMapping each_mapping_;
    bool unseen_;
    std::atomic<Future> future_{Future::kFree};
};

}  // namespace numascape
