// SPDX-License-Identifier: Apache-2.0
//
// The launcher library does its ptrace calls through dynamorio_syscall, and waits with waitpid; the
// linker (--wrap) puts ours in between. There is no other place: it stops the thread and goes on in
// one function.
#include "injector_calls.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <vector>

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "held_threads.h"

namespace {

// The kernel's codes for "restart this call" (include/linux/errno.h); never seen by programs.
constexpr int64_t kRestart[] = {-512, -513, -514, -516};
constexpr uint64_t kCallBytes = 2;  // the instruction syscall

// What the launcher library waits for, or passes on itself; the first two end its code.
constexpr int kExpected[] = {SIGTRAP, SIGSTOP, SIGSEGV, SIGILL};

struct Injection {
    int process = 0;  // 0 = none is going on
    bool fresh = false;
    numascape::Untraced untraced;
    std::vector<int> signals;  // that wait until it is over
    numascape::HeldThreads others;
};

Injection injection;

}  // namespace

extern "C" {

long __real_dynamorio_syscall(unsigned number, unsigned count, long a, long b, long c, long d,
                              long e, long f);
pid_t __real_waitpid(pid_t thread, int* status, int options);
}

namespace {

long trace(int request, int thread, const void* data) {
    return __real_dynamorio_syscall(SYS_ptrace, 4, request, thread, 0, reinterpret_cast<long>(data),
                                    0, 0);
}

void restart_interrupted_call(user_regs_struct& registers) {
    const auto returned = static_cast<int64_t>(registers.rax);
    if (static_cast<int64_t>(registers.orig_rax) >= 0 &&
        std::find(std::begin(kRestart), std::end(kRestart), returned) != std::end(kRestart)) {
        registers.rip -= kCallBytes;
        registers.rax = registers.orig_rax;
        registers.orig_rax = ~0ull;
        trace(PTRACE_SETREGS, injection.process, &registers);
    }
}

}  // namespace

extern "C" {

long __wrap_dynamorio_syscall(unsigned number, unsigned count, long a, long b, long c, long d,
                              long e, long f) {
    const long result = __real_dynamorio_syscall(number, count, a, b, c, d, e, f);
    if (number != SYS_ptrace || injection.process == 0 || b != injection.process) {
        return result;
    }
    if (a == PTRACE_ATTACH && result < 0) {
        injection.untraced.error = static_cast<int>(-result);
    }
    if (a != PTRACE_GETREGS || result < 0 || !injection.fresh) {
        return result;
    }
    injection.fresh = false;  // stopped, and nothing is changed yet
    if (!injection.others.hold(injection.process)) {
        injection.untraced.reason = "has a thread that cannot be stopped now: try again";
        return -EUNATCH;
    }
    restart_interrupted_call(*reinterpret_cast<user_regs_struct*>(d));
    return result;
}

pid_t __wrap_waitpid(pid_t thread, int* status, int options) {
    while (true) {
        const pid_t found = __real_waitpid(thread, status, options);
        if (found < 0 && errno == EINTR && injection.process != 0) {
            continue;  // a signal that ends us waits, too
        }
        const bool stopped =
            found > 0 && found == injection.process && status != nullptr && WIFSTOPPED(*status);
        if (!stopped || std::find(std::begin(kExpected), std::end(kExpected), WSTOPSIG(*status)) !=
                            std::end(kExpected)) {
            return found;
        }
        injection.signals.push_back(WSTOPSIG(*status));
        trace(PTRACE_CONT, found, nullptr);
    }
}
}

namespace numascape {

std::optional<Untraced> watch_injection(int process, bool (*inject)(void*), void* argument) {
    injection.process = process;
    injection.fresh = true;
    const bool injected = inject(argument);
    injection.process = 0;
    injection.others.release();
    for (const int signal : injection.signals) {
        syscall(SYS_tgkill, process, process, signal);
    }
    return injected ? std::nullopt : std::optional(injection.untraced);
}

}  // namespace numascape
