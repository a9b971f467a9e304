// SPDX-License-Identifier: Apache-2.0
#include "interval_map.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace numascape {
namespace {

using Map = IntervalMap<int>;

// The value of the map at each address from 0 to `end`; -1 if there is none.
std::vector<int> values(Map& map, uint64_t end) {
    std::vector<int> found(end, -1);
    map.each_in(0, end, [&](const Map::Interval& interval) {
        for (uint64_t at = interval.start; at < interval.end && at < end; ++at) {
            EXPECT_EQ(found[at], -1) << "two ranges hold " << at;
            found[at] = interval.value;
        }
    });
    return found;
}

TEST(IntervalMap, ANewRangeReplacesWhatItOverlaps) {
    Map map;
    EXPECT_FALSE(map.any());
    map.insert(2, 8, 1);
    map.insert(4, 6, 2);
    EXPECT_TRUE(map.any());
    EXPECT_EQ(values(map, 10), (std::vector<int>{-1, -1, 1, 1, 2, 2, 1, 1, -1, -1}));
    Map::Interval found{};
    ASSERT_TRUE(map.find(6, found));
    EXPECT_EQ(found.start, 6u);
    EXPECT_EQ(found.end, 8u);
    EXPECT_FALSE(map.find(8, found));
}

TEST(IntervalMap, WhatWasTakenCanBePutBackElsewhere) {
    Map map;
    map.insert(0, 4, 1);
    map.insert(4, 8, 2);
    const Map::Taken taken = map.take(2, 6);
    EXPECT_EQ(values(map, 8), (std::vector<int>{1, 1, -1, -1, -1, -1, 2, 2}));
    map.reinsert(taken, 10);
    EXPECT_EQ(values(map, 18),
              (std::vector<int>{1, 1, -1, -1, -1, -1, 2, 2, -1, -1, -1, -1, 1, 1, 2, 2, -1, -1}));
}

// Compares with one value per address, over many changes; some are undone.
TEST(IntervalMap, AgreesWithAnArray) {
    constexpr uint64_t kEnd = 200;
    std::mt19937 random(1);
    const auto number = [&](uint64_t below) { return random() % below; };
    Map map;
    std::vector<int> expected(kEnd, -1);
    for (int round = 0; round < 20000; ++round) {
        const uint64_t start = number(kEnd);
        const uint64_t end = start + 1 + number(kEnd - start);
        if (number(2) == 0) {
            ASSERT_TRUE(map.insert(start, end, round));
            std::fill(expected.begin() + static_cast<long>(start),
                      expected.begin() + static_cast<long>(end), round);
        } else {
            const Map::Taken taken = map.take(start, end);
            if (number(2) == 0) {
                map.reinsert(taken);
            } else {
                map.drop(taken);
                std::fill(expected.begin() + static_cast<long>(start),
                          expected.begin() + static_cast<long>(end), -1);
            }
        }
        if (round % 100 == 0) {
            ASSERT_EQ(values(map, kEnd), expected) << "after round " << round;
        }
    }
}

TEST(IntervalMap, HasRoomForAsManyRangesAsAProcessHasMappings) {
    constexpr uint64_t kMax = 65530;
    Map map;
    for (int round = 0; round < 8; ++round) {  // nodes are used again
        for (uint64_t at = 0; at < kMax; ++at) {
            ASSERT_TRUE(map.insert(at * 2, at * 2 + 1, 1));
        }
        map.drop(map.take(0, kMax * 2));
    }
    EXPECT_EQ(values(map, 10), std::vector<int>(10, -1));
}

}  // namespace
}  // namespace numascape
