// SPDX-License-Identifier: Apache-2.0
// label: keys = serial first touch
// Why: One thread draws all keys. Each thread sorts its own fixed part, which is most of the
// work; then parts are merged in pairs by fewer and fewer threads.
// action: keys = local | spread
// harm: keys = copy | parallelise the existing loop
// Labels of what needs no action, added after the first look:
// label: inplace_merge() = partitioned
// Why: Each thread allocates and uses its own buffer.
// action: inplace_merge() = none
// Sorts in place: a part per thread, then merges of neighbours.
//   usage: sort_parts [keys] [threads]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

static void sort_in_parts(std::vector<uint64_t>& keys, size_t parts) {
    auto edge = [&](size_t part) { return keys.begin() + keys.size() * part / parts; };
    std::vector<std::thread> threads;
    for (size_t p = 0; p < parts; ++p)
        threads.emplace_back([=] { std::sort(edge(p), edge(p + 1)); });
    for (auto& thread : threads) thread.join();
    for (size_t width = 1; width < parts; width *= 2) {
        threads.clear();
        for (size_t p = 0; p + width < parts; p += 2 * width)
            threads.emplace_back([=] {
                std::inplace_merge(edge(p), edge(p + width), edge(std::min(parts, p + 2 * width)));
            });
        for (auto& thread : threads) thread.join();
    }
}

int main(int argc, char** argv) {
    const size_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1200000;
    const size_t parts = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 4;
    std::vector<uint64_t> keys(count);
    std::mt19937_64 random(3);
    for (auto& key : keys) key = random();
    sort_in_parts(keys, parts);
    uint64_t check = 0;
    for (size_t i = 0; i < count; i += 1000) check = check * 31 + keys[i];
    std::printf("%s %llx\n", std::is_sorted(keys.begin(), keys.end()) ? "sorted" : "wrong",
                (unsigned long long)check);
}
