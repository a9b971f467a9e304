// SPDX-License-Identifier: Apache-2.0
// A vector fills itself in the main thread, which then does a part of the work.
// label: A = serial first touch
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "labelled.h"

int main() {
    std::vector<double> A(N, 1.0);
    const auto work = [&](int thread) {
        const int part = N / THREADS;
        for (int sweep = 0; sweep < 3 * SWEEPS; sweep++)
            for (int i = thread * part; i < (thread + 1) * part; i++) A[i] = 0.5 * A[i] + 1.0;
    };
    std::vector<std::thread> threads;
    for (int t = 1; t < THREADS; t++) threads.emplace_back(work, t);
    work(0);
    for (auto& thread : threads) thread.join();
    std::printf("%g\n", A[N / 3]);
}
