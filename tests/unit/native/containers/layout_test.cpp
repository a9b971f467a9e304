// SPDX-License-Identifier: Apache-2.0
// Layouts are values: everything about them is known without memory, most of it when compiling.
#include "numascape/layout.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "numascape/layout_text.hpp"

using namespace numascape;

namespace {

constexpr auto four = layout{block{8}}.on({0, 1, 2, 3}).pages(page_size::mib2);
static_assert(four.segments(1000) == 8);
static_assert(four.first(3, 1000) == 375 && four.first(8, 1000) == 1000);
static_assert(four.node(2, 1000) == 1 && four.node(7, 1000) == 3);
static_assert(four.ordered(node_order::cyclic).node(2, 1000) == 2);
static_assert(four.locator(1000)(374) == 2 && four.locator(1000)(375) == 3);
static_assert(layout{block_cyclic<64>{}}.on({4, 2}).node(3, 1000) == 2);
static_assert(layout{weighted{3, 1}}.on({0, 1}).first(1, 1000) == 750);
static_assert(four == layout{block{8}}.on({0, 1, 2, 3}).pages(page_size::mib2));
static_assert(four != four.padded(1));
static_assert(layout_from_parts({{0, 0.25, 1}, {0.25, 1, 0}}) == layout{weighted{1, 3}}.on({1, 0}));

TEST(Divider, IsExactDivision) {
    std::uint64_t random = 88172645463325252;  // xorshift
    const auto next = [&] {
        random ^= random << 13;
        random ^= random >> 7;
        return random ^= random << 17;
    };
    for (int i = 0; i < 100000; ++i) {
        const std::size_t divisor = (next() >> (2 + next() % 62)) | 1;
        const std::size_t index = next() >> (1 + next() % 62);
        ASSERT_EQ(divider{divisor}(index), index / divisor) << index << " / " << divisor;
        const std::size_t multiple = index / divisor * divisor;
        ASSERT_EQ(divider{divisor}(multiple), multiple / divisor);
        if (multiple > 0) {
            ASSERT_EQ(divider{divisor}(multiple - 1), (multiple - 1) / divisor);
        }
    }
    for (int shift = 0; shift <= 62; ++shift)
        EXPECT_EQ(divider{std::size_t{1} << shift}(SIZE_MAX / 2), (SIZE_MAX / 2) >> shift);
}

// Every element is in exactly one segment, and the locator finds it.
template <class Layout>
void expect_partition(const Layout& layout, std::size_t n) {
    const std::size_t count = layout.segments(n);
    ASSERT_GE(count, 1U);
    ASSERT_EQ(layout.first(0, n), 0U);
    ASSERT_EQ(layout.first(count, n), n);
    const auto locate = layout.locator(n);
    for (std::size_t k = 0; k < count; ++k) {
        ASSERT_LE(layout.first(k, n), layout.first(k + 1, n));
        for (std::size_t i = layout.first(k, n); i < layout.first(k + 1, n); ++i)
            ASSERT_EQ(static_cast<std::size_t>(locate(i)), k) << i << " of " << n;
    }
}

TEST(Layout, DealsEveryElementOnce) {
    for (const std::size_t n : {0, 1, 2, 3, 7, 8, 63, 64, 65, 1000}) {
        expect_partition(layout{}, n);
        for (const std::size_t count : {1, 2, 3, 8, 64, 100}) {
            expect_partition(layout{block{count}}, n);
            expect_partition(layout{block{count, 10}}, n);
            expect_partition(layout{block_cyclic{count}}, n);
        }
        expect_partition(layout{block_cyclic<16>{}}, n);
        expect_partition(layout{block_cyclic<7>{}}, n);
        expect_partition(layout{weighted{1, 2, 3}}, n);
        expect_partition(layout{weighted{{0, 5, 0, 0, 1, 0}, 4}}, n);
    }
}

TEST(Layout, KeepsGrainsTogether) {
    const auto rows = layout{block{3, 100}};
    for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(rows.first(k, 1000) % 100, 0U);
    EXPECT_EQ(rows.first(1, 1000), 400U);
}

TEST(Layout, GivesEverySegmentItsOwnPages) {
    for (const page_size page : {page_size::base, page_size::kib64, page_size::mib2}) {
        const auto where = layout{block{5}}.on({0, 1}).pages(page).padded(100).staggered(24);
        const std::vector<segment_extent> extents = where.extents(100'001, 8, 16);
        std::size_t end = 0;
        for (std::size_t k = 0; k < extents.size(); ++k) {
            const segment_extent& extent = extents[k];
            EXPECT_EQ(extent.region % bytes(page), 0U);
            EXPECT_EQ(extent.region_bytes % bytes(page), 0U);
            EXPECT_GE(extent.region, end + (k > 0 ? 100 : 0));
            EXPECT_EQ(extent.offset - extent.region, k * 32);  // 24, for alignment 16
            end = extent.region + extent.region_bytes;
            EXPECT_LE(extent.offset + extent.size * 8, end);
        }
        EXPECT_EQ(extents[0].node, 0);
        EXPECT_EQ(extents[4].node, 1);
    }
}

TEST(Layout, StaggersWithinOnePage) {
    const auto where = layout{block{100}}.staggered(192);
    for (const segment_extent& extent : where.extents(100'000, 8, 8))
        EXPECT_LT(extent.offset - extent.region, 4096U);
}

TEST(Layout, RefusesWhatCannotBe) {
    EXPECT_THROW(layout{}.extents(SIZE_MAX / 8, 8, 8), std::length_error);
    EXPECT_THROW((block_cyclic{0}), std::invalid_argument);
    EXPECT_THROW((block{3, 0}), std::invalid_argument);
    EXPECT_THROW((weighted{0, 0}), std::invalid_argument);
    EXPECT_THROW((node_list{0, -1}), std::invalid_argument);
    EXPECT_THROW(node_list(std::vector<int>(65, 0)), std::length_error);
}

TEST(LayoutText, IsReadAsItWasWritten) {
    for (const char* text :
         {"block", "block 8", "block 8 grain 1024; nodes 0 1 2 3; pages 2M; padding 4096",
          "cyclic 4096; nodes 1 0", "weighted 3 0 1 grain 7; pages 64K; stagger 192; in turn",
          "block 2; first touch", "block; fail"})
        EXPECT_EQ(to_text(parse_layout(text)), text);
    EXPECT_EQ(to_text(layout{block_cyclic<64>{}}.on({2})), "cyclic 64; nodes 2");
    const any_layout cyclic = parse_layout("cyclic 10; nodes 4 5");
    EXPECT_EQ(cyclic.node(3, 100), 5);
    EXPECT_EQ(cyclic.extents(100, 8, 8), (layout{block_cyclic{10}}.on({4, 5}).extents(100, 8, 8)));
    expect_partition(parse_layout("weighted 1 2 3"), 100);
    expect_partition(parse_layout("block 7 grain 3"), 100);
}

TEST(LayoutText, SaysWhichPartIsWrong) {
    for (const char* text : {"", "blocks", "block x", "block 1 2", "cyclic", "cyclic 0", "weighted",
                             "weighted 0", "block; pages 1G", "block; nodes -1", "block; nodes 0 a",
                             "block; quickly", "cyclic 99999999999999999999", "block 3 grain 0"})
        EXPECT_THROW((void)parse_layout(text), std::invalid_argument) << text;
    try {
        (void)parse_layout("block 2; pages 1G");
        FAIL();
    } catch (const std::invalid_argument& error) {
        EXPECT_STREQ(error.what(), "\"1G\" in a layout: pages are 4K, 64K or 2M");
    }
}

TEST(LayoutText, TakesThePartsOfAPlan) {
    EXPECT_EQ(to_text(parse_layout("parts 0-0.25@1,0.25-1@0 grain 8; pages 2M")),
              "weighted 1 3 grain 8; nodes 1 0; pages 2M");
    EXPECT_EQ(to_text(parse_layout("parts 0-1@3")), "weighted 1; nodes 3");
    const any_layout thirds = parse_layout(
        "parts 0-0.333333333@0,0.333333333-0.666666667@0,"
        "0.666666667-1@1");
    for (const std::size_t n : {3, 9, 3'000'000, 300'000'000}) {
        EXPECT_NEAR(static_cast<double>(thirds.first(1, n)), static_cast<double>(n) / 3, 1.0);
        EXPECT_EQ(thirds.node(1, n), 0);
        EXPECT_EQ(thirds.node(2, n), 1);
    }
    expect_partition(parse_layout("parts 0-0.1@0,0.1-0.1@1,0.1-0.7@0,0.7-1@2"), 1000);
}

TEST(LayoutText, RefusesPartsThatAreNoWhole) {
    for (const char* text :
         {"parts", "parts 0-1", "parts 0@1", "parts 0-1@-1", "parts 0-0.5@0", "parts 0.5-1@0",
          "parts 0-0.5@0,0.6-1@1", "parts 0-0.6@0,0.5-1@1", "parts 0-2@0", "parts nan-1@0",
          "parts 0-nan@0", "parts 0-inf@0", "parts 0-1@0 0-1@1", "parts 0-1@0; nodes 1",
          "parts 0-1@0 grain 0", "parts -0.5-1@0", "parts 1-0@0", "parts @-"})
        EXPECT_THROW((void)parse_layout(text), std::invalid_argument) << text;
    std::vector<layout_part> many(65, layout_part{0, 0, 0});
    many.back().last = 1;
    EXPECT_THROW((void)layout_from_parts(many), std::length_error);
    EXPECT_THROW((void)layout_from_parts({}), std::invalid_argument);
}

TEST(Layout, DescribesItself) {
    EXPECT_EQ(layout{block{2}}.on({3, 1}).describe(1000, 8),
              "elements [0, 500) on node 3, bytes [0, 4000)\n"
              "elements [500, 1000) on node 1, bytes [4096, 8096)\n");
}

}  // namespace
