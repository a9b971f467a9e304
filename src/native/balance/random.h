// SPDX-License-Identifier: Apache-2.0
//
// Random numbers that are the same on every system. The distributions of <random> differ between
// standard libraries.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace numascape::balance {

// SplitMix64: G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators",
// OOPSLA 2014.
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31);
    }
    // From 0 to end - 1; end < 2^32.
    std::uint32_t below(std::uint64_t end) { return std::uint32_t(((next() >> 32) * end) >> 32); }
    // From 0 to 1, without 1.
    double share() { return double(next() >> 11) * 0x1p-53; }

  private:
    std::uint64_t state_;
};

template <typename T>
void shuffle(T& items, Random& random) {
    for (std::size_t i = items.size(); i > 1; --i) {
        const std::size_t j = random.below(i);
        auto kept = items[i - 1];
        items[i - 1] = items[j];
        items[j] = kept;
    }
}

// Visits ranges [begin, end) of `block` numbers below `size` each, in random order. Items with
// close numbers are often neighbours in the graph, so their data are in the cache.
template <typename Visit>
void visit_shuffled_blocks(std::size_t size, std::size_t block, Random& random, Visit&& visit) {
    std::vector<std::uint32_t> blocks((size + block - 1) / block);
    std::iota(blocks.begin(), blocks.end(), 0U);
    shuffle(blocks, random);
    for (std::uint32_t chosen : blocks) {
        const std::size_t begin = chosen * block;
        visit(begin, std::min(size, begin + block));
    }
}

}  // namespace numascape::balance
