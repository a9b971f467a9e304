// SPDX-License-Identifier: Apache-2.0
// Random walks downhill over a terrain of 1 Mi points, restarted at a random point every 64 steps.
// The threads count visits in one common array with atomic increments. Every thread walks
// everywhere: it reads the heights, which main computed, and increments counters of all pages.
// label: terrain = shared, read-mostly
// action: terrain = copy or spread
// label: visits = shared, written
// action: visits = spread
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr uint32_t SIDE = 1024;
constexpr uint32_t POINTS = SIDE * SIDE;
constexpr int WALKS = 160000;
constexpr int STEPS = 64;

using Counters = std::vector<std::atomic<uint32_t>>;

void walk(const std::vector<float>& terrain, Counters& visits, int walks, uint32_t seed) {
    uint64_t state = seed;
    for (int w = 0; w < walks; w++) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        uint32_t at = static_cast<uint32_t>(state >> 40) % POINTS;
        for (int s = 0; s < STEPS; s++) {
            visits[at].fetch_add(1, std::memory_order_relaxed);
            state = state * 6364136223846793005U + 1442695040888963407U;
            const uint32_t step = (state >> 60) & 1 ? SIDE : 1;
            const uint32_t ahead = (at + step) % POINTS;
            const uint32_t behind = (at + POINTS - step) % POINTS;
            at = terrain[ahead] < terrain[behind] ? ahead : behind;
            if (state >> 63) at = (at + 2 * step) % POINTS;
        }
    }
}

}  // namespace

int main() {
    const char* chosen = std::getenv("THREADS");
    const int count = chosen ? std::atoi(chosen) : 4;
    std::vector<float> terrain(POINTS);
    uint32_t state = 1;
    for (auto& height : terrain) {
        state = state * 1664525U + 1013904223U;
        height = static_cast<float>(state >> 12);
    }
    Counters visits(POINTS);
    std::vector<std::thread> threads;
    for (int t = 0; t < count; t++) {
        threads.emplace_back(walk, std::cref(terrain), std::ref(visits), WALKS / count, 17U + t);
    }
    for (auto& thread : threads) thread.join();
    uint64_t check = 0;
    for (uint32_t p = 0; p < POINTS; p++) check += static_cast<uint64_t>(visits[p]) * (p % 251);
    std::printf("check %llu\n", static_cast<unsigned long long>(check));
    return 0;
}
