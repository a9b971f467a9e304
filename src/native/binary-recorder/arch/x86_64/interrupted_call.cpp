// SPDX-License-Identifier: Apache-2.0
#include "interrupted_call.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>

#include <sys/syscall.h>

#include "thread_signals.h"

namespace numascape {
namespace {

// The kernel's codes for "restart this call" (include/linux/errno.h); never seen by programs.
constexpr int64_t kRestartBlock = -516;  // what is left of a length of time
constexpr int64_t kRestart[] = {-512, -513, -514, kRestartBlock};
constexpr uint64_t kCallBytes = 2;  // the instruction syscall

// Calls that a stop ends with EINTR, even without a signal handler (signal(7)). They have then done
// nothing.
constexpr int64_t kEndedByStops[] = {
    SYS_epoll_wait,   SYS_epoll_pwait,   SYS_epoll_pwait2,   SYS_semop,           SYS_semtimedop,
    SYS_io_getevents, SYS_io_pgetevents, SYS_io_uring_enter, SYS_rt_sigtimedwait, SYS_read,
    SYS_write,        SYS_recvfrom,      SYS_recvmsg,        SYS_recvmmsg,        SYS_sendto,
    SYS_sendmsg,      SYS_accept,        SYS_accept4,
};

template <typename Set>
bool holds(const Set& set, int64_t value) {
    return std::find(std::begin(set), std::end(set), value) != std::end(set);
}

bool is_ended(const user_regs_struct& registers) {
    const auto number = static_cast<int64_t>(registers.orig_rax);
    const auto returned = static_cast<int64_t>(registers.rax);
    return number >= 0 &&
           (holds(kRestart, returned) || (returned == -EINTR && holds(kEndedByStops, number)));
}

// If the call asked for it, the kernel has stored the remaining time.
void sleep_what_is_left(user_regs_struct& registers) {
    if (registers.orig_rax == SYS_nanosleep && registers.rsi != 0) {
        registers.rdi = registers.rsi;
    } else if (registers.orig_rax == SYS_clock_nanosleep && registers.r10 != 0) {
        registers.rdx = registers.r10;
    }
}

}  // namespace

bool signal_ends_call(int process, int thread, const user_regs_struct& registers) {
    ThreadSignals signals;
    return is_ended(registers) && read_signals(process, thread, signals) &&
           (signals.pending & signals.caught & ~signals.blocked) != 0;
}

bool restart_call(user_regs_struct& registers) {
    if (!is_ended(registers)) {
        return false;
    }
    if (static_cast<int64_t>(registers.rax) == kRestartBlock) {
        sleep_what_is_left(registers);
    }
    registers.rip -= kCallBytes;
    registers.rax = registers.orig_rax;
    registers.orig_rax = ~0ull;
    return true;
}

}  // namespace numascape
