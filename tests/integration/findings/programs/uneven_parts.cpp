// SPDX-License-Identifier: Apache-2.0
// The last thread has half of the array.
// label: A = partitioned
// label: run = load imbalance
#include <barrier>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "labelled.h"

int main() {
    const std::unique_ptr<double[]> A{new double[N]};
    const int fences[] = {0, N / 8, N / 4, N / 2, N};
    std::barrier start(THREADS);
    std::vector<std::thread> threads;
    for (int t = 0; t < THREADS; t++)
        threads.emplace_back([&, t] {
            start.arrive_and_wait();
            for (int sweep = 0; sweep < SWEEPS; sweep++)
                for (int i = fences[t]; i < fences[t + 1]; i++)
                    A[i] = sweep == 0 ? i : 0.5 * A[i] + 1.0;
        });
    for (auto& thread : threads) thread.join();
    std::printf("%g\n", A[N / 3]);
}
