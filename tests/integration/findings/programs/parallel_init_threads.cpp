// SPDX-License-Identifier: Apache-2.0
// Each thread initialises its part itself.
// label: A = partitioned
// label: run = no NUMA problem
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "labelled.h"

int main() {
    const std::unique_ptr<double[]> A{new double[N]};
    std::vector<std::thread> threads;
    for (int t = 0; t < THREADS; t++)
        threads.emplace_back([&, t] {
            const int part = N / THREADS;
            for (int sweep = 0; sweep < SWEEPS; sweep++)
                for (int i = t * part; i < (t + 1) * part; i++)
                    A[i] = sweep == 0 ? i : 0.5 * A[i] + 1.0;
        });
    for (auto& thread : threads) thread.join();
    std::printf("%g\n", A[N / 3]);
}
