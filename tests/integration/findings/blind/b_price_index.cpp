// SPDX-License-Identifier: Apache-2.0
// Looks up prices in a std::map. The main thread inserts the 65536 articles in random order; then
// four threads look up random articles. Each lookup goes from the root to a leaf: the upper levels
// are in all caches, and the other nodes, on 700 pages, are read by all threads alike.
// label: index = shared, read-mostly
// action: index = copy or spread
// harm: index = parallelise the existing loop
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <map>
#include <vector>

constexpr uint32_t articles = 1 << 16, lookups = 200000;

using Index = std::map<uint32_t, uint32_t>;

static uint64_t look_up(const Index& index, uint32_t state) {
    uint64_t sum = 0;
    for (uint32_t n = 0; n < lookups; ++n) {
        state = state * 1664525U + 1013904223U;
        const auto found = index.lower_bound(state >> 8);
        if (found != index.end()) sum += found->second;
    }
    return sum;
}

int main() {
    const char* wanted = std::getenv("THREADS");
    const int threads = wanted ? std::atoi(wanted) : 4;
    Index index;
    for (uint32_t article = 1; article <= articles; ++article) {
        index[(article * 2654435761U) >> 8] = article % 1000;
    }
    std::vector<std::future<uint64_t>> sums;
    for (int t = 0; t < threads; ++t) {
        const uint32_t seed = uint32_t(t) * 40503 + 1;
        sums.push_back(std::async(std::launch::async, [&, seed] { return look_up(index, seed); }));
    }
    uint64_t sum = 0;
    for (std::future<uint64_t>& part : sums) sum += part.get();
    std::printf("prices %llu\n", static_cast<unsigned long long>(sum));
}
