// SPDX-License-Identifier: Apache-2.0
// A trap: each thread has a vector of its own, and all read a page of constants.
// label: run = no NUMA problem
// label: own = partitioned
// label: weights = cache-resident
#include <barrier>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "labelled.h"

int main() {
    const std::vector<double> weights(512, 0.5);
    std::barrier together(THREADS);
    std::vector<std::thread> threads;
    double results[THREADS];
    for (int t = 0; t < THREADS; t++)
        threads.emplace_back([&, t] {
            std::vector<double> own(N, 1.0);
            for (int sweep = 0; sweep < SWEEPS; sweep++)
                for (int i = 0; i < N; i++) own[i] = own[i] * weights[i % 512] + 1.0;
            results[t] = own[N / 3];
            // Only now: memory that is freed earlier would be the next thread's.
            together.arrive_and_wait();
        });
    for (auto& thread : threads) thread.join();
    std::printf("%g\n", results[0]);
}
