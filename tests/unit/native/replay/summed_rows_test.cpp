// SPDX-License-Identifier: Apache-2.0
#include "summed_rows.h"

#include <gtest/gtest.h>

#include <compare>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace numascape {
namespace {

struct Key {
    uint32_t site, page;
    auto operator<=>(const Key&) const = default;
    uint32_t list() const { return site / 8; }
};

TEST(SummedRows, EachKeyIsThereOnceInOrder) {
    SummedRows<Key, uint64_t> rows;
    std::map<Key, uint64_t> expected;
    uint32_t number = 1;
    for (uint64_t i = 0; i < 10'000; ++i) {
        number = number * 1664525 + 1013904223;
        const Key key{number >> 24, number >> 16 & 7};
        rows.add(key, i);
        expected[key] += i;
    }
    EXPECT_EQ(rows.size(), expected.size());
    std::vector<std::pair<Key, uint64_t>> found;
    rows.take([&](const Key& key, uint64_t sum) { found.emplace_back(key, sum); });
    EXPECT_EQ(found, (std::vector<std::pair<Key, uint64_t>>(expected.begin(), expected.end())));
    EXPECT_EQ(rows.size(), 0U);
}

TEST(SummedRows, NumbersAreSummedInTheOrderInWhichTheyCame) {
    SummedRows<Key, double> rows;
    double expected = 0;
    for (int i = 0; i < 1000; ++i) {
        const double number = 1.0 / (1 + i * i % 97);
        rows.add({3, 1}, number);
        expected += number;
    }
    rows.take([&](const Key&, double sum) { EXPECT_EQ(sum, expected); });
}

}  // namespace
}  // namespace numascape
