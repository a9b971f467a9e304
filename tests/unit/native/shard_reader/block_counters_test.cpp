// SPDX-License-Identifier: Apache-2.0
#include "block_counters.h"

#include <gtest/gtest.h>

namespace numascape {
namespace {

TEST(Strata, FollowOneAnotherWithoutGaps) {
    for (const uint32_t shift : {kMinStratumShift, kMinStratumShift + 3}) {
        Stratum at = stratum_of(0, shift);
        EXPECT_EQ(at.begin, 0u);
        while (at.begin < uint64_t{1} << 24) {
            const Stratum next = stratum_of(at.begin + at.size, shift);
            ASSERT_EQ(next.begin, at.begin + at.size);
            ASSERT_EQ(stratum_of(next.begin + next.size - 1, shift).begin, next.begin);
            ASSERT_GE(next.size, at.size);
            at = next;
        }
    }
}

TEST(Strata, AreFewAndNoneIsLarge) {
    uint64_t strata = 0;
    for (Stratum at = stratum_of(0, kMinStratumShift); at.begin < uint64_t{1} << 20; ++strata) {
        if (at.begin >= 1 << 12) {
            EXPECT_LE(at.size * 32, at.begin);
        }
        at = stratum_of(at.begin + at.size, kMinStratumShift);
    }
    // Two of each power of two up to 2^8, 30 up to 2^12, 32 of each of the other eight.
    EXPECT_EQ(strata, 1u + 1 + 2 * 7 + 30 + 32 * 8);
}

TEST(Strata, HaveALargestSize) {
    EXPECT_EQ(stratum_of(uint64_t{1} << 62, kMinStratumShift).size, 1u << kMinStratumShift);
    EXPECT_EQ(stratum_of(~uint64_t{0}, kMaxStratumShift).size, 1u << kMaxStratumShift);
    EXPECT_EQ(stratum_of(~uint64_t{0}, kMaxStratumShift).begin + (uint64_t{1} << 30), 0u);
}

}  // namespace
}  // namespace numascape
