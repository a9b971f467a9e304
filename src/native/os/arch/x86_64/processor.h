// SPDX-License-Identifier: Apache-2.0
//
// Included by processor.h alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include <elf.h>
#include <linux/audit.h>
#include <poll.h>
#include <sys/syscall.h>

namespace numascape::os {

inline constexpr char kProcessorName[] = "x86-64";
inline constexpr unsigned kMaxInstructionBytes = 15;
// The number of this processor in the header of an executable.
inline constexpr uint16_t kElfMachine = EM_X86_64;
// The number of this processor in seccomp filters.
inline constexpr uint32_t kAuditArchitecture = AUDIT_ARCH_X86_64;

inline long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                 long f = 0) {
    long result = 0;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

// Numbers of system calls that newer processors do not have.
inline constexpr long kOldFork = SYS_fork;
inline constexpr long kOldGetdents = SYS_getdents;

// The same as readlink(2) and poll(2). On newer processors, these use other system calls.
inline long read_link(const char* path, char* into, size_t bytes) {
    return call(SYS_readlink, reinterpret_cast<long>(path), reinterpret_cast<long>(into),
                static_cast<long>(bytes));
}
inline long poll(pollfd* files, long count, long timeout_ms) {
    return call(SYS_poll, reinterpret_cast<long>(files), count, timeout_ms);
}

// Copies and fills without vector registers.
inline void copy_bytes(void* to, const void* from, size_t bytes) {
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}
inline void fill_bytes(void* to, int value, size_t bytes) {
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(value) : "memory");
}

// Lets the other thread of a core work while a loop waits.
inline void pause_once() {
    __asm__ volatile("pause" : : : "memory");
}

// The time-stamp counter: see ticks.h.
inline uint64_t processor_ticks() {
    uint32_t low = 0;
    uint32_t high = 0;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return uint64_t{high} << 32 | low;
}

// The thread's pointer to its thread-local storage.
inline uint64_t thread_pointer() {
    uint64_t pointer = 0;
    __asm__("movq %%fs:0, %0" : "=r"(pointer));
    return pointer;
}

}  // namespace numascape::os
