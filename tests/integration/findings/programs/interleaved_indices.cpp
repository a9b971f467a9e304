// SPDX-License-Identifier: Apache-2.0
// Thread t works on elements t, t + 4, t + 8, ...: on every page.
// label: A = page-level false sharing
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "labelled.h"

int main() {
    std::vector<double> A(N, 1.0);
    std::vector<std::thread> threads;
    for (int t = 0; t < THREADS; t++)
        threads.emplace_back([&, t] {
            for (int sweep = 0; sweep < 2 * SWEEPS; sweep++)
                for (int i = t; i < N; i += THREADS) A[i] = 0.5 * A[i] + 1.0;
        });
    for (auto& thread : threads) thread.join();
    std::printf("%g\n", A[N / 3]);
}
