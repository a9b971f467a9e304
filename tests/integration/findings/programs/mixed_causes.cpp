// SPDX-License-Identifier: Apache-2.0
// Two causes: samples of each thread, initialised serially, and bins that all write.
// label: samples = serial first touch
// label: bins = shared, written
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "labelled.h"

int main() {
    std::vector<unsigned> samples(4 * N, 1U);
    std::vector<unsigned> bins(4 * N, 0U);
    std::vector<std::thread> threads;
    for (int t = 0; t < THREADS; t++)
        threads.emplace_back([&, t] {
            unsigned state = 1 + t;
            unsigned *const sample = samples.data(), *const bin = bins.data();
            const int part = 4 * N / THREADS;
            for (int sweep = 0; sweep < 3; sweep++)
                for (int i = t * part; i < (t + 1) * part; i++) {
                    sample[i] += next_random(&state);
                    __atomic_fetch_add(&bin[sample[i] % (4 * N)], 1U, __ATOMIC_RELAXED);
                }
        });
    for (auto& thread : threads) thread.join();
    std::printf("%u\n", bins[N / 3]);
}
