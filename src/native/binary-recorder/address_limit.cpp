// SPDX-License-Identifier: Apache-2.0
#include "address_limit.h"

#include <atomic>
#include <cerrno>

#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>

#include "capabilities.h"
#include "dr_api.h"
#include "os.h"
#include "recorder.h"
#include "spin_lock.h"

// Patch 48 of DynamoRIO; a DynamoRIO without it has no such functions.
extern "C" __attribute__((weak)) void dr_keep_address_limit(void* drcontext, uint64_t soft,
                                                            uint64_t hard);
extern "C" __attribute__((weak)) bool dr_kept_address_limit(uint64_t* soft, uint64_t* hard);

namespace numascape {
namespace {

constexpr uint64_t kNoLimit = ~uint64_t{0};
// Readers do not need the lock, because they read only the soft limit.
SpinLock lock;
std::atomic<uint64_t> soft_limit{kNoLimit};
uint64_t hard_limit = kNoLimit;
bool is_kept = false;  // false: the kernel has the limit

// A child of vfork has limits of its own, but no memory of its own. A few such children may exist
// at the same time; the entry of an ended child may still be there.
struct ChildLimit {
    int pid;
    rlimit limit;
};
constexpr unsigned kChildren = 16;
ChildLimit children[kChildren];
unsigned next_child = 0;

ChildLimit* child_here() {
    const int pid = os::process_id();
    for (ChildLimit& child : children) {
        if (!shard.is_of_this_process() && child.pid == pid) {
            return &child;
        }
    }
    return nullptr;
}

rlimit limit_now() {
    rlimit limit{};
    if (const ChildLimit* child = child_here(); child != nullptr) {
        limit = child->limit;
    } else if (is_kept) {
        limit = {soft_limit.load(std::memory_order_relaxed), hard_limit};
    } else {
        os::call(SYS_prlimit64, 0, RLIMIT_AS, 0, reinterpret_cast<long>(&limit));
    }
    return limit;
}

long set_limit(const rlimit& wanted, const rlimit& now) {
    if (wanted.rlim_cur > wanted.rlim_max) {
        return -EINVAL;
    }
    if (wanted.rlim_max > now.rlim_max && !has_capability(CAP_SYS_RESOURCE)) {
        return -EPERM;
    }
    if (shard.is_of_this_process()) {
        soft_limit.store(wanted.rlim_cur, std::memory_order_relaxed);
        hard_limit = wanted.rlim_max;
        is_kept = true;
    } else if (ChildLimit* child = child_here(); child != nullptr) {
        child->limit = wanted;
    } else {
        children[next_child++ % kChildren] = {static_cast<int>(os::process_id()), wanted};
    }
    return 0;
}

bool copy_out(uint64_t address, const rlimit& limit) {
    size_t written = 0;
    return dr_safe_write(reinterpret_cast<void*>(address), sizeof limit, &limit, &written) &&
           written == sizeof limit;
}

bool copy_in(uint64_t address, rlimit& limit) {
    size_t got = 0;
    return dr_safe_read(reinterpret_cast<void*>(address), sizeof limit, &limit, &got) &&
           got == sizeof limit;
}

uint64_t program_bytes() {
    uint64_t bytes = 0;
    each_mapping(
        [](const MappedRange& range, void* sum) {
            if (std::string_view(range.path) != "[vsyscall]") {
                *static_cast<uint64_t*>(sum) += range.end - range.start;
            }
        },
        &bytes);
    return bytes;
}

struct Overlap {
    uint64_t start, end, bytes;
};

// The number of bytes of the program's mappings that a mapping at these addresses would replace.
uint64_t replaced_bytes(uint64_t start, uint64_t bytes) {
    Overlap overlap{start, start + bytes, 0};
    each_mapping(
        [](const MappedRange& range, void* argument) {
            auto* into = static_cast<Overlap*>(argument);
            const uint64_t from = range.start > into->start ? range.start : into->start;
            const uint64_t to = range.end < into->end ? range.end : into->end;
            into->bytes += to > from ? to - from : 0;
        },
        &overlap);
    return overlap.bytes;
}

// The number of bytes by which the call makes the address space of the program larger.
uint64_t added_bytes(const SystemCall& call, uint64_t program_break) {
    const auto& argument = call.arguments;
    switch (call.number) {
        case SYS_mmap:
            return page_ceiling(argument[1]) -
                   ((argument[3] & MAP_FIXED) != 0
                        ? replaced_bytes(argument[0], page_ceiling(argument[1]))
                        : 0);
        case SYS_mremap:
            return argument[2] > argument[1] ? page_ceiling(argument[2]) - page_ceiling(argument[1])
                                             : 0;
        case SYS_brk:
            return argument[0] > program_break
                       ? page_ceiling(argument[0]) - page_ceiling(program_break)
                       : 0;
        case SYS_shmat: {
            shmid_ds segment{};
            const long error = os::call(SYS_shmctl, static_cast<long>(argument[0]), IPC_STAT,
                                        reinterpret_cast<long>(&segment));
            return error == 0 ? page_ceiling(segment.shm_segsz) : 0;
        }
        default:
            return 0;
    }
}

}  // namespace

bool concerns_limits(long number) {
    return number == SYS_prlimit64 || number == SYS_setrlimit || number == SYS_getrlimit;
}

MadeCall call_for_address_limit(const SystemCall& call) {
    const auto& argument = call.arguments;
    const bool of_any_process = call.number == SYS_prlimit64;
    const uint64_t resource = argument[of_any_process ? 1 : 0];
    if (resource != RLIMIT_AS ||
        (of_any_process && argument[0] != 0 && argument[0] != os::process_id())) {
        return {false, 0};
    }
    uint64_t wanted_at = 0;
    uint64_t told_at = 0;
    switch (call.number) {
        case SYS_setrlimit:
            wanted_at = argument[1];
            break;
        case SYS_getrlimit:
            told_at = argument[1];
            break;
        default:
            wanted_at = argument[2];
            told_at = argument[3];
    }
    SpinGuard guard(lock);
    rlimit wanted{};
    if (wanted_at != 0 && !copy_in(wanted_at, wanted)) {
        return {true, -EFAULT};
    }
    const rlimit now = limit_now();
    if (wanted_at != 0) {
        const long result = set_limit(wanted, now);
        if (result != 0) {
            return {true, result};
        }
    }
    if (told_at != 0 && !copy_out(told_at, now)) {
        return {true, -EFAULT};
    }
    return {true, 0};
}

void address_limit_after_fork() {
    lock.reset();
}

void take_over_address_limit() {
    uint64_t soft = 0;
    uint64_t hard = 0;
    if (dr_kept_address_limit != nullptr && dr_kept_address_limit(&soft, &hard)) {
        soft_limit.store(soft, std::memory_order_relaxed);
        hard_limit = hard;
        is_kept = true;
    }
}

void pass_address_limit_on(void* drcontext) {
    SpinGuard guard(lock);
    if (dr_keep_address_limit != nullptr && (is_kept || child_here() != nullptr)) {
        const rlimit limit = limit_now();
        dr_keep_address_limit(drcontext, limit.rlim_cur, limit.rlim_max);
    }
}

void hand_over_address_limit() {
    SpinGuard guard(lock);
    if (is_kept) {
        const rlimit limit = limit_now();
        os::call(SYS_prlimit64, 0, RLIMIT_AS, reinterpret_cast<long>(&limit), 0);
    }
}

MadeCall hold_address_limit(const SystemCall& call) {
    const uint64_t limit = soft_limit.load(std::memory_order_relaxed);
    if (limit == kNoLimit) {
        return {false, 0};
    }
    const auto program_break = reinterpret_cast<uint64_t>(dr_raw_brk(nullptr));
    const uint64_t added = added_bytes(call, program_break);
    if (added == 0 || (added <= limit && program_bytes() <= limit - added)) {
        return {false, 0};
    }
    return {true, call.number == SYS_brk ? static_cast<long>(program_break) : -ENOMEM};
}

}  // namespace numascape
