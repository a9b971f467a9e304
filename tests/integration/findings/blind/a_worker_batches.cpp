// SPDX-License-Identifier: Apache-2.0
// Four batches of four threads, one batch after another. Thread k fills scratch[k] (1 MiB), which
// it resizes itself, and works on it many times; no other thread ever uses it while it works. Main
// adds up one element in eight at the end. Sixteen threads, but each page has one user: nothing to
// fix.
// label: scratch = partitioned
// action: scratch = none
// label: run = no NUMA problem
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr size_t LENGTH = 1 << 17;
constexpr int BATCHES = 4;
constexpr int ROUNDS = 24;

void integrate(std::vector<double>& path, unsigned seed) {
    path.resize(LENGTH);
    for (auto& value : path) {
        seed = seed * 1664525U + 1013904223U;
        value = static_cast<double>(seed >> 16) / 65536.0;
    }
    for (int round = 0; round < ROUNDS; round++) {
        double before = 0;
        for (auto& value : path) {
            before = 0.5 * (before + value);
            value = before;
        }
    }
}

}  // namespace

int main() {
    const char* chosen = std::getenv("THREADS");
    const int count = chosen ? std::atoi(chosen) : 4;
    std::vector<std::vector<double>> scratch(BATCHES * count);
    for (int batch = 0; batch < BATCHES; batch++) {
        std::vector<std::thread> threads;
        for (int t = 0; t < count; t++) {
            const int k = batch * count + t;
            threads.emplace_back(integrate, std::ref(scratch[k]), static_cast<unsigned>(k));
        }
        for (auto& thread : threads) thread.join();
    }
    double sum = 0;
    for (const auto& path : scratch) {
        for (size_t i = 0; i < path.size(); i += 8) sum += path[i];
    }
    std::printf("sum %.6f\n", sum);
    return 0;
}
