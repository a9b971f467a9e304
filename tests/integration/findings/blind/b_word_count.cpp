// SPDX-License-Identifier: Apache-2.0
// Counts words. The main thread composes the text by appending; then each thread splits its own
// contiguous quarter into words, several times, and counts them in a hash map of its own (about
// 1 MiB, which it builds itself). The main thread adds up a little at the end.
// label: text = serial first touch
// action: text = local
// harm: text = parallelise the existing loop
// label: counts = partitioned
// action: counts = none
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

constexpr size_t bytes = 4 << 20;
constexpr uint32_t vocabulary = 1 << 14;
constexpr size_t rounds = 4;

static std::string compose() {
    std::string text;
    text.reserve(bytes + 16);
    uint32_t state = 21;
    while (text.size() < bytes) {
        state = state * 1664525U + 1013904223U;
        for (uint32_t rest = (state >> 12) % vocabulary + 100; rest; rest /= 10) {
            text += char('a' + rest % 10);
            text += char('k' + rest % 7);
        }
        text += ' ';
    }
    return text;
}

static uint64_t count(std::string_view part) {
    std::unordered_map<std::string_view, uint32_t> counts;
    for (size_t round = 0; round < rounds; ++round) {
        size_t start = 0;
        for (size_t i = 0; i < part.size(); ++i) {
            if (part[i] != ' ') continue;
            if (i > start + round) ++counts[part.substr(start, i - start)];
            start = i + 1;
        }
    }
    uint64_t sum = 0;
    for (const auto& [word, times] : counts) sum += word.size() * times;
    return sum;
}

int main() {
    const char* wanted = std::getenv("THREADS");
    const int threads = wanted ? std::atoi(wanted) : 4;
    const std::string text = compose();

    std::vector<uint64_t> sums(threads);
    std::vector<std::thread> readers;
    size_t first = 0;
    for (int t = 0; t < threads; ++t) {
        const size_t last = text.find(' ', text.size() * (t + 1) / threads - 2) + 1;
        const std::string_view part(text.data() + first, last - first);
        readers.emplace_back([&sums, t, part] { sums[t] = count(part); });
        first = last;
    }
    uint64_t sum = 0;
    for (int t = 0; t < threads; ++t) {
        readers[t].join();
        sum += sums[t];
    }
    std::printf("letters in words %llu\n", static_cast<unsigned long long>(sum));
}
