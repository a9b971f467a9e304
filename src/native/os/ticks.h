// SPDX-License-Identifier: Apache-2.0
//
// Time in ticks of the time-stamp counter. A thread may forbid itself to read the counter
// (PR_SET_TSC). All threads and programs that it starts inherit this. Our code then permits it for
// the moment in which it reads the counter.
//
// Included by os.h alone.
#pragma once

#include <atomic>
#include <cstdint>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "held_signals.h"
#include "processor.h"

namespace numascape::os {

// Hidden, as next_own_mapping.
__attribute__((visibility("hidden"))) inline std::atomic<bool> ticks_may_be_forbidden{false};

// Whether the system call may forbid this thread to read the counter.
inline bool may_forbid_ticks(long number, long option) {
    return number == SYS_prctl && static_cast<int>(option) == PR_SET_TSC;
}

inline bool are_ticks_forbidden() {
    int mode = PR_TSC_ENABLE;
    call(SYS_prctl, PR_GET_TSC, reinterpret_cast<long>(&mode));
    return mode == PR_TSC_SIGSEGV;
}

// Must be called before the program forbids it.
inline void expect_forbidden_ticks() {
    ticks_may_be_forbidden.store(true, std::memory_order_relaxed);
}

// The thread may have forbidden it before the recorder entered, or have inherited it through
// execve.
inline void find_forbidden_ticks() {
    if (are_ticks_forbidden()) {
        expect_forbidden_ticks();
    }
}

// No handler of a signal of the program runs meanwhile: it would find the counter permitted.
__attribute__((noinline, cold)) inline uint64_t forbidden_ticks() {
    if (!are_ticks_forbidden()) {
        return processor_ticks();
    }
    const HeldSignals held;
    call(SYS_prctl, PR_SET_TSC, PR_TSC_ENABLE);
    const uint64_t ticks = processor_ticks();
    call(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV);
    return ticks;
}

// The counters of all CPUs of a machine agree if they run at a constant rate.
inline uint64_t ticks() {
    return ticks_may_be_forbidden.load(std::memory_order_relaxed) ? forbidden_ticks()
                                                                  : processor_ticks();
}

}  // namespace numascape::os
