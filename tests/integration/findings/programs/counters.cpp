// SPDX-License-Identifier: Apache-2.0
// All threads write any of the counters. They fit into a cache, but their lines travel.
// label: counters = true sharing of cache lines
// action: counters = divide
#include <atomic>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "labelled.h"

int main() {
    constexpr int MANY = 1 << 10;
    const std::unique_ptr<std::atomic<long>[]> counters{new std::atomic<long>[MANY]()};
    std::vector<std::thread> threads;
    for (int t = 0; t < THREADS; t++)
        threads.emplace_back([&, t] {
            unsigned state = 1 + t;
            for (int i = 0; i < 4 * N; i++)
                counters[next_random(&state) % MANY].fetch_add(1, std::memory_order_relaxed);
        });
    for (auto& thread : threads) thread.join();
    std::printf("%ld\n", counters[0].load());
}
