// SPDX-License-Identifier: Apache-2.0
//
// DynamoRIO's detach nudge makes the thread that it is sent to go on from where it was when the
// signal arrived, although it ran on until DynamoRIO had control: some of its instructions are
// executed twice, and a system call's result may be lost. All other threads are released right.
// So the nudge goes to a thread to which this does no harm: while attached, the process has one
// more thread, named kReleaseThreadName, that only waits. It is no thread of DynamoRIO's or of the
// client's (these do not take nudges) but looks like one of the program's.
//
// The program's signals must not reach it: it has none of the storage that their handlers need, and
// its registers are lost when one comes together with the nudge. But DynamoRIO unblocks all signals
// of a thread that it takes over, and only remembers which are blocked; it passes those on to other
// threads, but not when they interrupt a system call. So each time the thread is about to wait, we
// have the kernel block them.
#include "release_thread.h"

#include <atomic>

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

// The thread's code, copied to memory of its own, because this library goes when DynamoRIO goes.
// With a time to wait, the call ends when a signal arrives, instead of going on: only then does
// DynamoRIO see the nudge. It makes no access to memory, so that nothing of it is counted. r12: the
// word it waits for; r13: its stack; r14: a signal set. No thread-local storage of its creator's.
__asm__(R"(
    .pushsection .rodata
numascape_release_code:
    mov $158, %eax          # arch_prctl(ARCH_SET_GS, 0)
    mov $0x1001, %edi
    xor %esi, %esi
    syscall
    mov $158, %eax          # arch_prctl(ARCH_SET_FS, 0)
    mov $0x1002, %edi
    syscall
1:  mov $14, %eax           # rt_sigprocmask(SIG_SETMASK, set, null, 8)
    mov $2, %edi
    mov %r14, %rsi
    xor %edx, %edx
    mov $8, %r10d
    syscall
    mov $202, %eax          # futex(word, FUTEX_WAIT_PRIVATE, 0, time): EAGAIN when it is not 0
    mov %r12, %rdi
    mov $128, %esi
    xor %edx, %edx
    lea 8(%r12), %r10
    syscall
    cmp $-11, %rax
    jne 1b
    mov $11, %eax           # munmap(stack)
    mov %r13, %rdi
    mov $65536, %esi
    syscall
    mov $60, %eax           # exit(0), of this thread
    xor %edi, %edi
    syscall
numascape_release_code_end:
    .popsection
)");

extern "C" {
extern const char numascape_release_code[];
extern const char numascape_release_code_end[];
}

namespace numascape {
namespace {

constexpr uint64_t kStackBytes = 65536;
// Among the recorder's own mappings, which are not shown as the program's.
constexpr uint64_t kPlace = 0x0fff'0000'0000;

struct Shared {
    std::atomic<uint32_t> released;
    uint32_t unused;
    int64_t seconds;  // how long to wait at a time
    int64_t nanoseconds;
    uint64_t signals;
};
Shared* shared = nullptr;
uint32_t thread_id = 0;

bool is_mask_change(void*, int number) {
    return number == SYS_rt_sigprocmask;
}

// DynamoRIO will not make the call, but note the mask as that of the program. It has the thread
// from now on, so that the nudge will not be lost: only now does it have the name by which it is
// found.
bool before_call(void*, int number) {
    if (is_mask_change(nullptr, number) && is_release_thread()) {
        shared->seconds = 3600;
        os::call(SYS_prctl, PR_SET_NAME, reinterpret_cast<long>(kReleaseThreadName));
        os::call(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&shared->signals), 0,
                 sizeof shared->signals);
    }
    return true;
}

}  // namespace

void start_release_thread() {
    auto* code = static_cast<char*>(os::map_sparse(kPageBytes, reinterpret_cast<void*>(kPlace)));
    auto* stack = static_cast<char*>(
        os::map_sparse(kStackBytes, reinterpret_cast<void*>(kPlace + 2 * kPageBytes)));
    auto* data = static_cast<Shared*>(
        os::map_sparse(kPageBytes, reinterpret_cast<void*>(kPlace + kPageBytes)));
    if (os::failed(code) || os::failed(stack) || os::failed(data)) {
        return;
    }
    __builtin_memcpy(code, numascape_release_code,
                     static_cast<size_t>(numascape_release_code_end - numascape_release_code));
    os::call(SYS_mprotect, reinterpret_cast<long>(code), kPageBytes, PROT_READ | PROT_EXEC);
    // The program's signals are for the program's threads. What DynamoRIO sends, and the faults by
    // which it probes, must arrive. But not SIGTRAP: with one, sent to the whole process, DynamoRIO
    // returns to its launcher, and nobody catches it for a thread that is not traced.
    data->signals = ~uint64_t{0};
    for (const int number : {SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGSYS}) {
        data->signals &= ~(uint64_t{1} << (number - 1));
    }
    data->nanoseconds = 10'000'000;  // DynamoRIO may take it over between its two calls
    shared = data;

    const uint64_t all = ~uint64_t{0};
    uint64_t before = 0;
    os::call(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&all),
             reinterpret_cast<long>(&before), sizeof all);
    constexpr long kFlags =
        CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    long created = SYS_clone;
    register long no_place __asm__("r10") = 0;
    register long no_storage __asm__("r8") = 0;
    register Shared* word __asm__("r12") = data;
    register char* stack_start __asm__("r13") = stack;
    register uint64_t* signals __asm__("r14") = &data->signals;
    __asm__ volatile("syscall\n test %%rax, %%rax\n jnz 1f\n jmp *%%rbx\n1:"
                     : "+a"(created)
                     : "D"(kFlags), "S"(stack + kStackBytes - 64), "d"(0L), "r"(no_place),
                       "r"(no_storage), "b"(code), "r"(word), "r"(stack_start), "r"(signals)
                     : "rcx", "r11", "memory");
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
