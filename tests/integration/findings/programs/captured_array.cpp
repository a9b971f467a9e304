// SPDX-License-Identifier: Apache-2.0
// Threads work on a local array of the function that created them.
// label: local = serial first touch
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "labelled.h"

int main() {
    double local[N];
    for (int i = 0; i < N; i++) local[i] = i;
    std::vector<std::thread> threads;
    for (int t = 0; t < THREADS; t++)
        threads.emplace_back([&local, t] {
            const int part = N / THREADS;
            for (int sweep = 0; sweep < SWEEPS; sweep++)
                for (int i = t * part; i < (t + 1) * part; i++) local[i] = 0.5 * local[i] + 1.0;
        });
    for (auto& thread : threads) thread.join();
    std::printf("%g\n", local[N / 3]);
}
