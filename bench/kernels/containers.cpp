// SPDX-License-Identifier: Apache-2.0
// The standard library at work: counts words in an unordered_map, groups them by count in vectors,
// sorts them. Many small allocations. Usage: containers [WORDS [ROUNDS]]
#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "size.h"

namespace {

struct Random {  // xorshift64 (G. Marsaglia, 2003)
    std::uint64_t state = 88172645463325252ULL;
    std::uint64_t next() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return state;
    }
};

bool count_and_sort(const std::vector<std::string>& words) {
    std::unordered_map<std::string, std::size_t> counts;
    for (const std::string& word : words) ++counts[word];

    std::vector<std::vector<std::string>> by_count;
    for (const auto& [word, count] : counts) {
        if (by_count.size() <= count) by_count.resize(count + 1);
        by_count[count].push_back(word);
    }
    std::size_t total = 0;
    for (std::size_t count = 0; count < by_count.size(); ++count) {
        std::sort(by_count[count].begin(), by_count[count].end());
        total += count * by_count[count].size();
    }
    return total == words.size();
}

}  // namespace

int main(int argc, char** argv) {
    const long word_count = size_argument(argc, argv, 1, 200000);
    const long rounds = size_argument(argc, argv, 2, 5);
    Random random;
    std::vector<std::string> words;
    for (long i = 0; i < word_count; ++i)
        words.push_back("word-" + std::to_string(random.next() % 50000));
    for (long round = 0; round < rounds; ++round)
        if (!count_and_sort(words)) return 1;
    std::printf("containers: %ld words, %ld rounds, correct\n", word_count, rounds);
    return 0;
}
