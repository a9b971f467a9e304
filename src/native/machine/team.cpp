// SPDX-License-Identifier: Apache-2.0
#include "team.h"

#include <sched.h>
#include <sys/resource.h>

#include <ctime>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace numascape::machine {

void Barrier::wait() {
    const std::size_t round = round_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == members_) {
        arrived_.store(0, std::memory_order_relaxed);
        round_.store(round + 1, std::memory_order_release);
        return;
    }
    for (unsigned spins = 1; round_.load(std::memory_order_acquire) == round; spins++) {
        if (spins % 1024 == 0) sched_yield();
    }
}

void run_team(const Pinning& pinning, std::span<const unsigned> cpus,
              const std::function<void(std::size_t)>& work) {
    Barrier pinned(cpus.size());
    std::mutex mutex;
    std::exception_ptr failure;
    std::vector<std::thread> threads;
    for (std::size_t member = 0; member < cpus.size(); member++) {
        threads.emplace_back([&, member] {
            try {
                pinning.pin(cpus[member]);
            } catch (...) {
                const std::lock_guard lock(mutex);
                failure = std::current_exception();
            }
            pinned.wait();
            if (!failure) work(member);
        });
    }
    for (std::thread& thread : threads) thread.join();
    if (failure) std::rethrow_exception(failure);
}

void run_alone(const Pinning& pinning, unsigned cpu, const std::function<void(std::size_t)>& work) {
    pinning.pin(cpu);
    work(0);
}

long interruptions() {
    rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw;
}

double now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace numascape::machine
