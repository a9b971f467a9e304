// SPDX-License-Identifier: Apache-2.0
//
// Included by processor.h alone.
#pragma once

#include <cstdint>

#include <linux/audit.h>

namespace numascape::os {

// What seccomp filters see of a call by this processor.
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
