// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "os.h"
#include "processor.h"

namespace numascape {

// The number of attempts to get a lock if the thread that holds it may never run again.
inline constexpr uint32_t kAttemptsAtEnd = 10'000;

// For short sections inside the recorded program: needs no libc, and works before libc is
// initialised.
class SpinLock {
  public:
    void lock() {
        while (held_.exchange(true, std::memory_order_acquire)) {
            wait();
        }
    }
    // False: it was held all the time, perhaps by a thread that will never run again.
    bool lock_within(uint32_t attempts) {
        for (; attempts > 0; --attempts) {
            if (!held_.exchange(true, std::memory_order_acquire)) {
                return true;
            }
            os::yield();
        }
        return false;
    }
    void unlock() { held_.store(false, std::memory_order_release); }
    // For the child of a fork: the thread that held it does not exist any more.
    void reset() { held_.store(false, std::memory_order_relaxed); }

  private:
    // The locked sections take less time than a system call, so the lock is probably free again
    // soon. If it is not, the thread that holds it may need this processor.
    void wait() const {
        constexpr int kPauses = 50;
        for (int i = 0; i < kPauses; ++i) {
            os::pause_once();
            if (!held_.load(std::memory_order_relaxed)) {
                return;
            }
        }
        os::yield();
    }

    std::atomic<bool> held_{false};
};

class SpinGuard {
  public:
    explicit SpinGuard(SpinLock& lock) : lock_(lock) { lock_.lock(); }
    ~SpinGuard() { lock_.unlock(); }
    SpinGuard(const SpinGuard&) = delete;
    SpinGuard& operator=(const SpinGuard&) = delete;

  private:
    SpinLock& lock_;
};

}  // namespace numascape
