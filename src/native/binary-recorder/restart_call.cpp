// SPDX-License-Identifier: Apache-2.0
//
// The launcher library does its ptrace calls through dynamorio_syscall; the linker (--wrap) puts
// ours in between. There is no other place: it stops the thread and goes on in one function.
#include "restart_call.h"

#include <cstdint>

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>

namespace {

// The kernel's codes for "restart this call" (include/linux/errno.h); never seen by programs.
constexpr int64_t kRestart[] = {-512, -513, -514, -516};
constexpr uint64_t kCallBytes = 2;  // the instruction syscall

int restart_thread = 0;

}  // namespace

extern "C" {

long __real_dynamorio_syscall(unsigned number, unsigned count, long a, long b, long c, long d,
                              long e, long f);

long __wrap_dynamorio_syscall(unsigned number, unsigned count, long a, long b, long c, long d,
                              long e, long f) {
    const long result = __real_dynamorio_syscall(number, count, a, b, c, d, e, f);
    if (number != SYS_ptrace || a != PTRACE_GETREGS || b != restart_thread || result < 0) {
        return result;
    }
    restart_thread = 0;
    auto* registers = reinterpret_cast<user_regs_struct*>(d);
    const auto returned = static_cast<int64_t>(registers->rax);
    for (const int64_t code : kRestart) {
        if (static_cast<int64_t>(registers->orig_rax) >= 0 && returned == code) {
            registers->rip -= kCallBytes;
            registers->rax = registers->orig_rax;
            registers->orig_rax = ~0ull;
            __real_dynamorio_syscall(SYS_ptrace, 4, PTRACE_SETREGS, b, 0, d, 0, 0);
            break;
        }
    }
    return result;
}
}

namespace numascape {

void restart_interrupted_call_of(int thread) {
    restart_thread = thread;
}

}  // namespace numascape
