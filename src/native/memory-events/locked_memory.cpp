// SPDX-License-Identifier: Apache-2.0
#include "locked_memory.h"

#include <cerrno>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "capabilities.h"
#include "os.h"

namespace numascape {
namespace {

constexpr unsigned kOnFault = 1;     // MLOCK_ONFAULT
constexpr uint64_t kAllOnFault = 4;  // MCL_ONFAULT

uint64_t locked_limit() {
    rlimit limit{};
    os::call(SYS_prlimit64, 0, RLIMIT_MEMLOCK, 0, reinterpret_cast<long>(&limit));
    return limit.rlim_cur;
}

void add_bytes(const MappedRange& range, void* sum) {
    *static_cast<uint64_t*>(sum) += range.end - range.start;
}

}  // namespace

long LockedMemory::lock_all(ThreadRecorder& recorder, uint64_t flags) {
    if ((flags & ~(MCL_CURRENT | MCL_FUTURE | kAllOnFault)) != 0 ||
        (flags & (MCL_CURRENT | MCL_FUTURE)) == 0) {
        return -EINVAL;
    }
    const bool limited = !has_capability(CAP_IPC_LOCK);
    if (limited) {
        const uint64_t limit = locked_limit();
        if (limit == 0) {
            return -EPERM;
        }
        uint64_t sum = 0;
        each_mapping_(add_bytes, &sum);
        if ((flags & MCL_CURRENT) != 0 && sum > limit) {
            return -ENOMEM;
        }
    }
    const bool on_fault = (flags & kAllOnFault) != 0;
    Future future = Future::kFree;
    if ((flags & MCL_FUTURE) != 0) {
        future = on_fault ? Future::kLockedOnFault : Future::kLocked;
    }
    future_.store(future, std::memory_order_relaxed);
    if (unseen_ && future != Future::kFree && !limited) {
        os::call(SYS_mlockall, static_cast<long>(MCL_FUTURE | kAllOnFault));
    }
    if ((flags & MCL_CURRENT) != 0) {
        struct Visit {
            LockedMemory* self;
            ThreadRecorder* recorder;
            bool on_fault;
        } visit{this, &recorder, on_fault};
        each_mapping_(
            [](const MappedRange& range, void* argument) {
                const auto* to = static_cast<const Visit*>(argument);
                to->self->lock(*to->recorder, range, to->on_fault);
            },
            &visit);
    }
    return 0;
}

void LockedMemory::mapped(ThreadRecorder& recorder, AddressRange range, bool accessible) {
    const Future future = future_.load(std::memory_order_relaxed);
    if (future != Future::kFree && range.bytes != 0) {
        MappedRange whole{};
        whole.start = range.start;
        whole.end = range.start + range.bytes;
        whole.accessible = accessible;
        whole.writable = accessible;
        lock(recorder, whole, future == Future::kLockedOnFault);
    }
}

// As in the kernel, this does not fail: it locks and fills what it can.
void LockedMemory::lock(ThreadRecorder& recorder, const MappedRange& range, bool on_fault) {
    os::call(SYS_mlock2, static_cast<long>(range.start), static_cast<long>(range.end - range.start),
             on_fault ? kOnFault : 0);
    if (!on_fault && range.accessible) {
        log_.touched_by_kernel(recorder, range.start, range.end - range.start,
                               range.writable && !range.shared);
    }
}

}  // namespace numascape
