// SPDX-License-Identifier: Apache-2.0
// Sorts 1 Mi keys three times by merge sort with OpenMP tasks down to 32 Ki keys. Main draws the
// keys. Which thread takes a task is decided by time: a part is sorted by one thread and merged by
// the same or others, and in the next round it comes to other threads.
// label: keys = pages change users
// action: keys = divide | spread
// label: merged = pages change users
// action: merged = divide | spread
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr size_t KEYS = 1 << 20;
constexpr size_t LEAF = 1 << 15;
constexpr int ROUNDS = 3;

void sort_part(uint32_t* keys, uint32_t* merged, size_t count) {
    if (count <= LEAF) {
        std::sort(keys, keys + count);
        return;
    }
    const size_t half = count / 2;
#pragma omp task
    sort_part(keys, merged, half);
#pragma omp task
    sort_part(keys + half, merged + half, count - half);
#pragma omp taskwait
    std::merge(keys, keys + half, keys + half, keys + count, merged);
    std::copy(merged, merged + count, keys);
}

}  // namespace

int main() {
    std::vector<uint32_t> keys(KEYS), merged(KEYS);
    uint32_t state = 11;
    uint64_t check = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (auto& key : keys) {
            state = state * 1664525U + 1013904223U;
            key = state ^ (state >> 15);
        }
#pragma omp parallel
#pragma omp single
        sort_part(keys.data(), merged.data(), KEYS);
        for (size_t i = 0; i < KEYS; i += 997) check = check * 31 + keys[i];
    }
    std::printf("check %llu\n", static_cast<unsigned long long>(check));
    return 0;
}
