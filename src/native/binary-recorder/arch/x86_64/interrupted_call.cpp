// SPDX-License-Identifier: Apache-2.0
#include "interrupted_call.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <iterator>

#include <sys/syscall.h>
#include <sys/uio.h>

namespace numascape {
namespace {

// The kernel's codes for "restart this call" (include/linux/errno.h); never seen by programs.
constexpr int64_t kRestartSystemCall = -512;   // restart, unless a handler without SA_RESTART runs
constexpr int64_t kRestartNoInterrupt = -513;  // restart in any case
constexpr int64_t kRestartNoHandler = -514;
constexpr int64_t kRestartBlock = -516;  // restart with the remaining time
constexpr int64_t kRestart[] = {kRestartSystemCall, kRestartNoInterrupt, kRestartNoHandler,
                                kRestartBlock};
constexpr uint64_t kCallBytes = 2;  // length of the syscall instruction

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

bool is_ended(const ThreadRegisters& registers) {
    const auto number = static_cast<int64_t>(registers.orig_rax);
    const auto returned = static_cast<int64_t>(registers.rax);
    return number >= 0 &&
           (holds(kRestart, returned) || (returned == -EINTR && holds(kEndedByStops, number)));
}

// Calls that continue as restart_syscall if they were interrupted before, for example by SIGSTOP.
// restart_syscall fails with EINTR after any signal handler, also that of DynamoRIO.
constexpr int64_t kGoOn[] = {SYS_poll, SYS_nanosleep, SYS_clock_nanosleep, SYS_futex};
constexpr uint8_t kLoadEax = 0xb8;  // mov imm32, %eax
constexpr uint8_t kLoadEdi = 0xbf;  // mov imm32, %edi
constexpr size_t kLoadBytes = 5;

bool read_program(int process, uint64_t address, void* into, size_t bytes) {
    const iovec local{into, bytes};
    const iovec remote{reinterpret_cast<void*>(address), bytes};
    return process_vm_readv(process, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

// The number that the code shortly before `end` loads by this instruction, or 0.
uint64_t loaded_number(int process, uint64_t end, uint8_t load) {
    uint8_t code[48] = {};
    if (!read_program(process, end - sizeof code, code, sizeof code)) {
        return 0;
    }
    for (size_t at = sizeof code - kLoadBytes + 1; at-- > 0;) {
        uint32_t number = 0;
        std::memcpy(&number, code + at + 1, sizeof number);
        if (code[at] == load && holds(kGoOn, static_cast<int64_t>(number))) {
            return number;
        }
    }
    return 0;
}

// The number of the interrupted call. If the call continues as restart_syscall, the number is in
// the code before the syscall instruction, or before the call of the C library's syscall().
uint64_t call_number(int process, const ThreadRegisters& registers) {
    if (registers.orig_rax != SYS_restart_syscall) {
        return registers.orig_rax;
    }
    uint64_t number = loaded_number(process, registers.rip - kCallBytes, kLoadEax);
    uint64_t caller = 0;
    if (number == 0 && read_program(process, registers.rsp, &caller, sizeof caller)) {
        number = loaded_number(process, caller, kLoadEdi);
    }
    return number != 0 ? number : registers.orig_rax;
}

// If the call asked for it, the kernel has stored the remaining time.
void sleep_what_is_left(uint64_t number, ThreadRegisters& registers) {
    if (number == SYS_nanosleep && registers.rsi != 0) {
        registers.rdi = registers.rsi;
    } else if (number == SYS_clock_nanosleep && registers.r10 != 0) {
        registers.rdx = registers.r10;
    }
}

}  // namespace

std::optional<CallEnds> restart_call(int process, ThreadRegisters& registers) {
    if (!is_ended(registers)) {
        return std::nullopt;
    }
    const uint64_t number = call_number(process, registers);
    const auto returned = static_cast<int64_t>(registers.rax);
    if (returned == kRestartBlock) {
        sleep_what_is_left(number, registers);
    }
    registers.rip -= kCallBytes;
    registers.rax = number;
    registers.orig_rax = ~0ull;
    return returned == kRestartNoInterrupt  ? CallEnds::kNever
           : returned == kRestartSystemCall ? CallEnds::kWithoutRestart
                                            : CallEnds::kAnyHandler;
}

}  // namespace numascape
