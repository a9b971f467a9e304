// SPDX-License-Identifier: Apache-2.0
// All threads read a large table, and most often its beginning.
// label: entries = shared, read-mostly
// label: entries = hot pages
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "labelled.h"

int main() {
    std::vector<int> entries(8 * N, 1);
    std::vector<std::thread> threads;
    long totals[THREADS];
    for (int t = 0; t < THREADS; t++)
        threads.emplace_back([&, t] {
            unsigned state = 1 + t;
            long total = 0;
            for (int i = 0; i < 8 * N; i++) {
                const unsigned within = next_random(&state) % (2 * N);
                // Three of four look into the first quarter.
                const unsigned quarter = next_random(&state) % 4 ? 0 : next_random(&state) % 4;
                total += entries[quarter * 2 * N + within];
            }
            totals[t] = total;
        });
    for (auto& thread : threads) thread.join();
    std::printf("%ld\n", totals[0]);
}
