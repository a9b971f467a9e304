// SPDX-License-Identifier: Apache-2.0
//
// Threads that are each bound to a CPU and start their work at the same moment.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <span>

#include "pinning.h"

namespace numascape::machine {

// A barrier for all members of a team. It spins, because the clock frequency may drop during sleep;
// it sometimes yields, for machines with fewer free CPUs than threads.
class Barrier {
  public:
    explicit Barrier(std::size_t members) : members_(members) {}
    void wait();

  private:
    const std::size_t members_;
    std::atomic<std::size_t> arrived_{0};
    std::atomic<std::size_t> round_{0};
};

// Runs work(member) in one thread for each CPU, bound to it, and returns when all have ended. If a
// thread cannot be bound, none runs, and the exception is thrown here. work must not throw.
void run_team(const Pinning& pinning, std::span<const unsigned> cpus,
              const std::function<void(std::size_t)>& work);

// Runs work(0) in the calling thread, bound to the CPU: a serial program.
void run_alone(const Pinning& pinning, unsigned cpu, const std::function<void(std::size_t)>& work);

// How often the calling thread lost its CPU to another thread. A sample in which this happened is
// wrong, and is repeated.
long interruptions();

// Seconds of a monotonic clock.
double now();

}  // namespace numascape::machine
