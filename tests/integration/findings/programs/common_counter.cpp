// SPDX-License-Identifier: Apache-2.0
// Each thread fills and adds up its own part, and counts its elements in one counter of all
// threads.
// label: A = partitioned
// label: done = true sharing of cache lines
#include <atomic>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "labelled.h"

static std::atomic<unsigned long> done;

int main() {
    std::unique_ptr<double[]> A(new double[N]);
    std::vector<double> sums(THREADS * 8);
    std::vector<std::thread> threads;
    for (int t = 0; t < THREADS; t++)
        threads.emplace_back([&, t] {
            const unsigned begin = N / THREADS * t, end = N / THREADS * (t + 1);
            for (unsigned i = begin; i < end; i++) A[i] = i;
            double sum = 0.0;
            for (unsigned i = begin; i < end; i++) {
                sum += A[i];
                done.fetch_add(1, std::memory_order_relaxed);
            }
            sums[8 * t] = sum;
        });
    for (auto& thread : threads) thread.join();
    std::printf("%g %lu\n", sums[0], done.load());
}
