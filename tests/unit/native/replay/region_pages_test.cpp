// SPDX-License-Identifier: Apache-2.0
#include "region_pages.h"

#include <gtest/gtest.h>

#include <vector>

namespace numascape {
namespace {

constexpr uint64_t kPool = 0x7f00'0000'0000;
constexpr uint32_t kNone = ~uint32_t{0};

uint64_t at_page(uint64_t page) {
    return kPool + page * kPageBytes;
}

// The owners of the first pages of the pool.
std::vector<uint32_t> owners(const RegionPages& regions, uint32_t pages) {
    std::vector<uint32_t> found;
    for (uint32_t page = 0; page < pages; ++page) {
        found.push_back(regions.at(window_page(kPool) + page).value_or(kNone));
    }
    return found;
}

TEST(RegionPages, GivesEachPageToTheLastRegionThatLives) {
    RegionPages regions;
    regions.begin(1, at_page(0), 4 * kPageBytes, 10);
    regions.begin(2, at_page(1), 2 * kPageBytes, 20);
    regions.begin(3, at_page(2), 1 * kPageBytes, 30);
    EXPECT_EQ(owners(regions, 5), (std::vector<uint32_t>{1, 2, 3, 1, kNone}));
    regions.end(2, 40);
    EXPECT_EQ(owners(regions, 5), (std::vector<uint32_t>{1, 1, 3, 1, kNone}));
    regions.end(3, 50);
    EXPECT_EQ(owners(regions, 5), (std::vector<uint32_t>{1, 1, 1, 1, kNone}));
    regions.end(1, 60);
    EXPECT_EQ(owners(regions, 5), (std::vector<uint32_t>(5, kNone)));
}

TEST(RegionPages, OverlappingRegionsEndInAnyOrder) {
    RegionPages regions;
    regions.begin(1, at_page(0), 3 * kPageBytes, 10);
    regions.begin(2, at_page(1), 3 * kPageBytes, 20);
    regions.begin(3, at_page(2), 3 * kPageBytes, 30);
    EXPECT_EQ(owners(regions, 5), (std::vector<uint32_t>{1, 2, 3, 3, 3}));
    regions.end(2, 40);
    EXPECT_EQ(owners(regions, 5), (std::vector<uint32_t>{1, 1, 3, 3, 3}));
    regions.end(3, 50);
    EXPECT_EQ(owners(regions, 5), (std::vector<uint32_t>{1, 1, 1, kNone, kNone}));
}

TEST(RegionPages, OnlyWholePagesBelongToOneRegion) {
    RegionPages regions;
    regions.begin(1, at_page(0) + 1024, 2 * kPageBytes, 10);
    EXPECT_EQ(owners(regions, 3), (std::vector<uint32_t>{kNone, 1, kNone}));
    const uint32_t first = window_page(kPool);
    EXPECT_TRUE(regions.divides(first));
    EXPECT_FALSE(regions.divides(first + 1));
    EXPECT_TRUE(regions.divides(first + 2));
    const auto parts = regions.parts(first + 2, 10, 110);
    ASSERT_EQ(parts.size(), 1u);
    EXPECT_EQ(parts[0].weight, 1024 * 100);
    regions.end(1, 60);
    EXPECT_EQ(regions.parts(first + 2, 10, 110)[0].weight, 1024 * 50);
    EXPECT_TRUE(regions.parts(first + 2, 60, 110).empty());
}

TEST(RegionPages, ARegionSmallerThanAPageHasItsBytes) {
    RegionPages regions;
    const uint32_t first = window_page(kPool);
    regions.begin(1, at_page(0) + 64, 128, 10);
    regions.begin(2, at_page(1) - 32, 96, 10);
    regions.begin(3, at_page(2), 256, 10);
    const auto bytes = [&](uint32_t page) {
        std::vector<double> found;
        for (const auto& part : regions.parts(first + page, 10, 11)) {
            found.push_back(part.weight);
        }
        return found;
    };
    EXPECT_EQ(bytes(0), (std::vector<double>{128, 32}));
    EXPECT_EQ(bytes(1), (std::vector<double>{64}));
    EXPECT_EQ(bytes(2), (std::vector<double>{256}));
    regions.end(1, 20);
    EXPECT_EQ(regions.parts(first, 20, 30).size(), 1u);
}

TEST(RegionPages, FindsRegionsByMemoryAndAddress) {
    RegionPages regions;
    regions.begin(1, at_page(0), 4 * kPageBytes, 10);
    regions.begin(2, at_page(0), 1 * kPageBytes, 20);
    regions.begin(3, at_page(3), 2 * kPageBytes, 30);
    EXPECT_EQ(regions.within(at_page(0), 4 * kPageBytes), (std::vector<uint32_t>{1, 2}));
    EXPECT_EQ(regions.within(at_page(0), 3 * kPageBytes), (std::vector<uint32_t>{2}));
    EXPECT_EQ(regions.last_at(at_page(0)), 2u);
    regions.end(2, 40);
    EXPECT_EQ(regions.last_at(at_page(0)), 1u);
    EXPECT_EQ(regions.last_at(at_page(1)), std::nullopt);
}

TEST(RegionPages, PagesThatAreGoneDoNotComeBack) {
    RegionPages regions;
    regions.begin(1, at_page(0), 4 * kPageBytes, 10);
    regions.begin(2, at_page(1), 2 * kPageBytes, 20);
    const uint32_t first = window_page(kPool);
    regions.erase({first + 1, first + 3});
    regions.end(2, 30);
    EXPECT_EQ(owners(regions, 4), (std::vector<uint32_t>{1, kNone, kNone, 1}));
}

}  // namespace
}  // namespace numascape
