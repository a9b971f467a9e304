// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <signal.h>
#include <sys/syscall.h>

#include "processor.h"

namespace numascape::os {

// From now on, the calling thread runs no handler of a signal. Signals that arrive wait. Returns
// the mask from before.
inline uint64_t hold_signals() {
    constexpr uint64_t kAll = ~uint64_t{0};
    uint64_t before = 0;
    call(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&kAll),
         reinterpret_cast<long>(&before), sizeof kAll);
    return before;
}

inline void release_signals(uint64_t before) {
    call(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&before), 0, sizeof before);
}

// Holds signals while it exists.
class HeldSignals {
  public:
    // With false, it does nothing: the program may have forbidden this system call.
    explicit HeldSignals(bool holds = true)
        : holds_(holds), before_(holds ? hold_signals() : uint64_t{0}) {}
    ~HeldSignals() {
        if (holds_) release_signals(before_);
    }
    HeldSignals(const HeldSignals&) = delete;
    HeldSignals& operator=(const HeldSignals&) = delete;

  private:
    bool holds_;
    uint64_t before_;
};

}  // namespace numascape::os
