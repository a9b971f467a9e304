// SPDX-License-Identifier: Apache-2.0
#include "page_shares.h"

#include <gtest/gtest.h>

#include <map>

namespace numascape {
namespace {

constexpr uint32_t kPageNumber = 7;

// Each owner's part of the page's counts.
std::map<uint32_t, double> parts(const PageShares& shares, uint64_t since, uint64_t until) {
    double total = 0;
    std::map<uint32_t, double> by_owner;
    for (const PageShares::Share& share : shares.during(kPageNumber, since, until)) {
        total += share.weight;
        by_owner[share.owner] += share.weight;
    }
    for (auto& [owner, part] : by_owner) {
        part /= total;
    }
    return by_owner;
}

TEST(PageShares, DividesByBytes) {
    PageShares shares;
    shares.add_block(kPageNumber, 1, 3000, 0);
    shares.add_block(kPageNumber, 2, 1000, 0);
    EXPECT_EQ(parts(shares, 0, 100), (std::map<uint32_t, double>{{1, 0.75}, {2, 0.25}}));
}

TEST(PageShares, CountsATransientBlockForItsTimeOnly) {
    PageShares shares;
    shares.add_block(kPageNumber, 1, 2000, 0);
    shares.add_block(kPageNumber, 2, 2000, 10);
    shares.end_block(kPageNumber, 2, 11);
    EXPECT_NEAR(parts(shares, 0, 1000)[2], 0.001, 1e-6);
    EXPECT_EQ(parts(shares, 500, 1000), (std::map<uint32_t, double>{{1, 1.0}}));
}

TEST(PageShares, EndsTheRightOneOfBlocksAtTheSameAddress) {
    PageShares shares;
    for (uint32_t owner = 1; owner <= 3; ++owner) {
        shares.add_block(kPageNumber, owner, 4096, owner * 100);
        shares.end_block(kPageNumber, owner, owner * 100 + 100);
    }
    EXPECT_EQ(parts(shares, 200, 300), (std::map<uint32_t, double>{{2, 1.0}}));
    EXPECT_EQ(shares.owners(kPageNumber), (std::vector<uint32_t>{1, 2, 3}));
}

TEST(PageShares, GivesReusedSmallBlocksNoMoreThanTheLargeOnesLeft) {
    PageShares shares;
    shares.add_block(kPageNumber, 1, 3072, 0);
    shares.add_small(kPageNumber, 2, 750'000);  // one address, many times
    shares.add_small(kPageNumber, 3, 250'000);
    const auto divided = parts(shares, 0, 100);
    EXPECT_DOUBLE_EQ(divided.at(1), 0.75);
    EXPECT_DOUBLE_EQ(divided.at(2), 0.1875);
    EXPECT_DOUBLE_EQ(divided.at(3), 0.0625);
}

TEST(PageShares, AsksAllWhereNobodyLivedThen) {
    PageShares shares;
    shares.add_block(kPageNumber, 1, 100, 0);
    shares.end_block(kPageNumber, 1, 10);
    EXPECT_EQ(parts(shares, 20, 30), (std::map<uint32_t, double>{{1, 1.0}}));
    EXPECT_TRUE(shares.during(kPageNumber + 1, 0, 10).empty());
}

}  // namespace
}  // namespace numascape
