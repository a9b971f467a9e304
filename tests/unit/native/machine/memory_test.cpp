// SPDX-License-Identifier: Apache-2.0
//
// The cycle visits every line once; a buffer reports its node correctly, on a machine with one
// node.
#include "memory.h"
#include "chase.h"

#include <cstdint>
#include <set>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

namespace numascape::machine {
namespace {

TEST(Chase, OneCycleGoesThroughAllLines) {
    for (const std::size_t count : {1U, 2U, 3U, 64U, 1000U}) {
        std::vector<Link> lines(count);
        make_cycle(lines.data(), count, 7);
        std::set<const Link*> seen;
        const Link* at = lines.data();
        for (std::size_t i = 0; i < count; i++) {
            EXPECT_TRUE(seen.insert(at).second);
            at = at->next;
        }
        EXPECT_EQ(at, lines.data());
        EXPECT_EQ(seen.size(), count);
    }
}

TEST(Chase, FollowsAsManyLinksAsAsked) {
    std::vector<Link> lines(97);
    make_cycle(lines.data(), lines.size(), 1);
    const Link* expected = lines.data();
    for (int i = 0; i < 64; i++) expected = expected->next;
    EXPECT_EQ(chase(lines.data(), 64), expected);
    EXPECT_EQ(chase(lines.data(), 33), expected);  // rounded up to 64
}

TEST(Memory, IsAlignedToHugePagesAndOnTheNodeItNames) {
    const Buffer buffer(3 << 20, 0);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % (2 << 20), 0U);
    buffer.touch();
    const Placement placement = buffer.placement(0);
    EXPECT_GT(placement.pages, 0U);
    if (placement.known) {
        EXPECT_EQ(placement.elsewhere, 0U);
        EXPECT_EQ(buffer.placement(4000).elsewhere, placement.pages);
    }
}

TEST(Memory, OnANodeThatDoesNotExistIsRefused) {
    EXPECT_THROW(Buffer(4096, 4000), std::system_error);
    EXPECT_THROW(Buffer(4096, 1 << 20), std::system_error);
}

}  // namespace
}  // namespace numascape::machine
