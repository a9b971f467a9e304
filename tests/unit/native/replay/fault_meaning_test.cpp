// SPDX-License-Identifier: Apache-2.0
#include "fault_meaning.h"

#include <gtest/gtest.h>

namespace numascape {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kBlock = 512 * kPage;

FaultEntry fault(uint64_t time, uint64_t address, uint32_t tid = 1) {
    return {time, address, 0x1000, 1, tid, 0, FaultKind::kFault};
}
// From `began` to `time`; the number of hinting faults that the kernel has counted.
FaultEntry look(uint64_t began, uint64_t time, uint64_t counted) {
    return {time, began, counted, 1, 0, 0, FaultKind::kLook};
}
FaultEntry pages(uint64_t time, FaultKind kind, uint64_t address, uint64_t count) {
    return {time, address, count, 1, 0, 0, kind};
}

std::vector<FaultMeaning> meanings(const std::vector<FaultEntry>& entries) {
    std::vector<FaultMeaning> found;
    for (const Fault& each : FaultMeanings::apply(entries).faults) {
        found.push_back(each.meaning);
    }
    return found;
}

using enum FaultMeaning;
using Meanings = std::vector<FaultMeaning>;

TEST(FaultMeanings, AFaultOfAPageSeenInMemoryIsAHintingFault) {
    EXPECT_EQ(meanings({fault(1, kBlock), look(5, 6, 0), fault(10, kBlock, 2), look(15, 16, 1)}),
              (Meanings{kFirstTouch, kHinting}));
}

TEST(FaultMeanings, WithoutALookThereAreNone) {
    EXPECT_EQ(meanings({fault(1, kBlock), fault(10, kBlock, 2)}), (Meanings{kFirstTouch, kOther}));
}

TEST(FaultMeanings, WhatWasUnmappedBeforeTheFirstFaultOfItsBlockIsNoReason) {
    const FaultLog log = FaultMeanings::apply({fault(7, kBlock), fault(9, kBlock + kPage)});
    EXPECT_EQ(log.faults[1].since_ns, 7U);
}

TEST(FaultMeanings, AFaultThatTheKernelDidNotCountIsNone) {
    EXPECT_EQ(meanings({fault(1, kBlock), look(5, 6, 7), fault(10, kBlock), look(15, 16, 7)}),
              (Meanings{kFirstTouch, kOther}));
}

TEST(FaultMeanings, TwoFaultsBetweenLooksAreOneSampleAtMost) {
    EXPECT_EQ(meanings({fault(1, kBlock), look(5, 6, 0), fault(10, kBlock, 2), fault(11, kBlock, 3),
                        look(15, 16, 2)}),
              (Meanings{kFirstTouch, kHinting, kOther}));
}

TEST(FaultMeanings, WhatFaultsDuringALookHasNotBeenSeenByIt) {
    EXPECT_EQ(meanings({fault(1, kBlock), fault(6, kBlock), look(5, 7, 0), fault(10, kBlock),
                        look(15, 16, 1), fault(20, kBlock), look(25, 26, 2)}),
              (Meanings{kFirstTouch, kOther, kOther, kHinting}));
}

TEST(FaultMeanings, TheRestOfAHugePageIsInMemory) {
    EXPECT_EQ(meanings({fault(1, kBlock), pages(6, FaultKind::kInMemory, kBlock + kPage, 511),
                        look(5, 6, 0), fault(10, kBlock + 9 * kPage), look(15, 16, 1)}),
              (Meanings{kFirstTouch, kHinting}));
}

TEST(FaultMeanings, AHugePageIsTouchedFirstOnce) {
    EXPECT_EQ(meanings({fault(1, kBlock), fault(3, kBlock + 9 * kPage, 2),
                        pages(6, FaultKind::kInMemory, kBlock + kPage, 8),
                        pages(6, FaultKind::kInMemory, kBlock + 10 * kPage, 502), look(5, 6, 0)}),
              (Meanings{kFirstTouch, kOther}));
    EXPECT_EQ(meanings({fault(1, kBlock), fault(3, kBlock + 9 * kPage, 2),
                        pages(6, FaultKind::kInMemory, kBlock + kPage, 8), look(5, 6, 0)}),
              (Meanings{kFirstTouch, kFirstTouch}));
}

TEST(FaultMeanings, AHugePageIsTouchedFirstOnceThoughThatWasReportedLate) {
    EXPECT_EQ(meanings({fault(1, kBlock), look(5, 6, 0), fault(7, kBlock + kPage, 2),
                        pages(16, FaultKind::kInMemory, kBlock + 2 * kPage, 510), look(15, 17, 0)}),
              (Meanings{kFirstTouch, kOther}));
}

TEST(FaultMeanings, AHugePageIsTouchedFirstOnceThoughItCameLate) {
    EXPECT_EQ(meanings({fault(1, kBlock), pages(6, FaultKind::kToCopy, kBlock, 1), look(5, 7, 0),
                        fault(8, kBlock + kPage, 2), pages(16, FaultKind::kInMemory, kBlock, 1),
                        pages(16, FaultKind::kInMemory, kBlock + 2 * kPage, 510), look(15, 17, 0)}),
              (Meanings{kFirstTouch, kOther}));
}

TEST(FaultMeanings, AWriteToAPageThatIsSharedUntilThenIsNone) {
    EXPECT_EQ(meanings({fault(1, kBlock), pages(6, FaultKind::kToCopy, kBlock, 1), look(5, 6, 0),
                        fault(10, kBlock), look(15, 16, 1), fault(20, kBlock), look(25, 26, 2)}),
              (Meanings{kFirstTouch, kOther, kHinting}));
    EXPECT_EQ(meanings({fault(1, kBlock), look(5, 6, 0), pages(7, FaultKind::kFork, 0, 0),
                        fault(10, kBlock), look(15, 16, 1)}),
              (Meanings{kFirstTouch, kOther}));
}

TEST(FaultMeanings, APageThatWasGoneIsTouchedFirstAgain) {
    EXPECT_EQ(meanings({fault(1, kBlock), look(5, 6, 0), pages(8, FaultKind::kGone, kBlock, 1),
                        fault(10, kBlock), look(15, 16, 1)}),
              (Meanings{kFirstTouch, kFirstTouch}));
}

TEST(FaultMeanings, ADamagedEntryIsAboutFewPages) {
    EXPECT_EQ(meanings({pages(1, FaultKind::kInMemory, ~uint64_t{0}, ~uint64_t{0}), look(2, 3, 0),
                        fault(10, kBlock), look(15, 16, 1)}),
              (Meanings{kFirstTouch}));
}

TEST(FaultMeanings, TellsHowManyTheKernelCounted) {
    EXPECT_EQ(FaultMeanings::apply({look(5, 6, 10), look(15, 16, 35)}).hinting_counted, 25U);
    EXPECT_EQ(FaultMeanings::apply({look(5, 6, 10), look(15, 16, 3)}).hinting_counted, 0U);
}

}  // namespace
}  // namespace numascape
