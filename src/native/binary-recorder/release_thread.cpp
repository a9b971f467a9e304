// SPDX-License-Identifier: Apache-2.0
//
// DynamoRIO's detach nudge has a fault. The thread that receives it is sent back to the place where
// it was when the signal arrived, although it ran on until DynamoRIO had control. Some of its
// instructions are then executed twice, and the result of a system call may be lost. All other
// threads are released correctly. While attached, the process therefore has one more thread, named
// kReleaseThreadName, which only waits. The nudge goes to this thread, where the fault does no
// harm. It is not a thread of DynamoRIO or of the client (these do not receive nudges), but looks
// like a thread of the program.
//
// The program's signals must not reach it. It does not have the storage that their handlers need,
// and its registers are lost if a signal arrives together with the nudge. But DynamoRIO unblocks
// all signals of a thread that it takes over, and only remembers which ones the program has
// blocked. It passes such signals on to other threads, but not if they interrupt a system call.
// Each time the thread is about to wait, we therefore let the kernel block the signals.
//
// DynamoRIO handles a nudge when the thread next leaves the code cache. A nudge that arrives just
// before the thread waits, or while DynamoRIO has suspended it, does not end the wait. The thread
// therefore never waits for long.
#include "release_thread.h"

#include <atomic>
#include <cstddef>

#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "dr_api.h"
#include "drmgr.h"
#include "os.h"
#include "shard_format.h"
#include "start_thread.h"

namespace numascape {
namespace {

constexpr uint64_t kStackBytes = 65536;
// In the range of the recorder's mappings, so that it is not recorded as memory of the program.
constexpr uint64_t kPlace = 0x0fff'0000'0000;

struct Shared {
    std::atomic<uint32_t> released;
    // Not 0 while the thread lives. The kernel sets it to 0 at the end of the thread.
    std::atomic<uint32_t> alive;
    int64_t seconds;  // how long to wait at a time
    int64_t nanoseconds;
    uint64_t signals;
    uint64_t magic;
};
constexpr uint64_t kMagic = 0x6e756d6173636170;  // marks a page of ours
constexpr int kPlaces = 8;  // several, because an earlier thread may not have ended yet
// The waiting times before the thread is taken over, and afterwards.
constexpr int64_t kFirstWaitNanoseconds = 10'000'000;
constexpr int64_t kWaitNanoseconds = 100'000'000;
Shared* shared = nullptr;
uint32_t thread_id = 0;

bool is_mask_change(void*, int number) {
    return number == SYS_rt_sigprocmask;
}

// DynamoRIO does not make this call, but remembers the mask as that of the program. It has taken
// over the thread now, so the nudge cannot be lost. The thread gets its name only now, because it
// is found by this name.
bool before_call(void*, int number) {
    if (is_mask_change(nullptr, number) && is_release_thread()) {
        shared->nanoseconds = kWaitNanoseconds;
        os::call(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&shared->signals), 0,
                 sizeof shared->signals);
        os::call(SYS_prctl, PR_SET_NAME, reinterpret_cast<long>(kReleaseThreadName));
    }
    return true;
}

// A page of code, a page of data, and a stack. The last instructions of the thread cannot unmap
// their own page, so it stays after a release and is used by the next one.
char* take_place() {
    constexpr uint64_t kBytes = 2 * kPageBytes + kStackBytes;
    const auto map = [](uint64_t place, long flags) {
        return reinterpret_cast<char*>(os::call(
            SYS_mmap, static_cast<long>(place), static_cast<long>(kBytes), PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0));
    };
    for (uint64_t place = kPlace; place < kPlace + kPlaces * 2 * kBytes; place += 2 * kBytes) {
        char* fresh = map(place, MAP_FIXED_NOREPLACE);
        if (!os::failed(fresh)) {
            return fresh;
        }
        uint64_t magic = 0;
        uint32_t alive = 1;
        os::read_memory(place + kPageBytes + offsetof(Shared, magic), &magic, sizeof magic);
        os::read_memory(place + kPageBytes + offsetof(Shared, alive), &alive, sizeof alive);
        if (magic == kMagic && alive == 0) {
            return map(place, MAP_FIXED);
        }
    }
    return map(kPlace, 0);
}

}  // namespace

void start_release_thread() {
    char* code = take_place();
    auto* data = reinterpret_cast<Shared*>(code + kPageBytes);
    char* stack = code + 2 * kPageBytes;
    if (os::failed(code)) {
        return;
    }
    __builtin_memcpy(code, numascape_release_code,
                     static_cast<size_t>(numascape_release_code_end - numascape_release_code));
    os::call(SYS_mprotect, reinterpret_cast<long>(code), kPageBytes, PROT_READ | PROT_EXEC);
    // Signals of the program must go to its own threads. Signals that DynamoRIO sends, and faults
    // by which it tests memory, must arrive. SIGTRAP must not: with a SIGTRAP for the whole
    // process, DynamoRIO returns to its launcher, and nobody catches it in a thread that is not
    // traced.
    data->signals = ~uint64_t{0};
    for (const int number : {SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGSYS}) {
        data->signals &= ~(uint64_t{1} << (number - 1));
    }
    data->magic = kMagic;
    data->nanoseconds = kFirstWaitNanoseconds;
    shared = data;

    const uint64_t all = ~uint64_t{0};
    uint64_t before = 0;
    os::call(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&all),
             reinterpret_cast<long>(&before), sizeof all);
    constexpr long kFlags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                            CLONE_SYSVSEM | CLONE_CHILD_CLEARTID;
    data->alive.store(1);
    const long created = start_thread(
        kFlags, {code, stack, stack + kStackBytes - 64, data, &data->signals, &data->alive});
    os::call(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&before), 0, sizeof before);
    thread_id = created > 0 ? static_cast<uint32_t>(created) : 0;
    dr_register_filter_syscall_event(is_mask_change);
    drmgr_register_pre_syscall_event(before_call);
}

bool is_release_thread() {
    return thread_id != 0 && os::thread_id() == thread_id;
}

void end_release_thread() {
    if (shared != nullptr) {
        shared->released.store(1);
        os::call(SYS_futex, reinterpret_cast<long>(&shared->released), FUTEX_WAKE_PRIVATE, 1);
    }
}

}  // namespace numascape
