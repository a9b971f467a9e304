// SPDX-License-Identifier: Apache-2.0
// Threads take chunks of a page from a queue: other ones each time.
// label: A = pages change users
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "labelled.h"

constexpr unsigned CHUNK = 512;

int main() {
    std::vector<double> A(N, 1.0);
    for (unsigned sweep = 0; sweep < 12; sweep++) {
        std::vector<std::thread> threads;
        for (int t = 0; t < THREADS; t++)
            threads.emplace_back([&, t] {
                for (unsigned chunk = 0; chunk < N / CHUNK; chunk++)
                    if (drawn_thread(chunk, sweep, THREADS) == t)
                        for (unsigned i = chunk * CHUNK; i < (chunk + 1) * CHUNK; i++)
                            A[i] = 0.5 * A[i] + 1.0;
            });
        for (auto& thread : threads) thread.join();
    }
    std::printf("%g\n", A[N / 3]);
}
