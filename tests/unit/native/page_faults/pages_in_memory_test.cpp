// SPDX-License-Identifier: Apache-2.0
#include "pages_in_memory.h"

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace numascape {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kBlock = 512;  // pages
constexpr uint64_t kHere = uint64_t{1} << 63 | uint64_t{1} << 56;
constexpr uint64_t kShared = uint64_t{1} << 63;
constexpr uint64_t kSwapped = uint64_t{1} << 62;
constexpr uint64_t kBegan = 1000;  // nanoseconds
constexpr uint64_t kSecond = 1'000'000'000;

using Noted = std::tuple<FaultKind, uint64_t, uint64_t>;  // first page, pages
using enum FaultKind;

// A process whose page table is a file that the test writes.
class Looking : public testing::Test {
  protected:
    void SetUp() override {
        file_ = mkstemp(path_);
        ASSERT_GE(file_, 0);
        set(0, 4 * kBlock, 0);
    }
    void TearDown() override {
        close(file_);
        std::remove(path_);
    }

    void set(uint64_t first, uint64_t count, uint64_t entry) {
        const std::vector<uint64_t> entries(count, entry);
        const auto bytes = static_cast<ssize_t>(count * sizeof entry);
        ASSERT_EQ(pwrite(file_, entries.data(), count * sizeof entry,
                         static_cast<off_t>(first * sizeof entry)),
                  bytes);
    }

    // The changes that a check notes, only in blocks with faults.
    std::vector<Noted> look(uint64_t began = kBegan) {
        std::vector<FaultEntry> entries;
        EXPECT_TRUE(pages().look(entries, began, 0, 0));
        EXPECT_EQ(entries.back().kind, kLook);
        entries.pop_back();
        std::vector<Noted> noted;
        for (const FaultEntry& entry : entries) {
            EXPECT_EQ(entry.time_ns == began, entry.kind == kGone);
            noted.emplace_back(entry.kind, entry.address / kPage, entry.pc);
        }
        return noted;
    }

    PagesInMemory& pages() {
        if (!pages_) {
            pages_.emplace(static_cast<uint32_t>(getpid()), path_);
        }
        return *pages_;
    }
    void fault(uint64_t page, uint32_t thread = 1, uint64_t time = kBegan - 1) {
        pages().faulted(thread, page * kPage + 8, time);
    }

  private:
    char path_[32] = "/tmp/pages_in_memory_XXXXXX";
    int file_ = -1;
    std::optional<PagesInMemory> pages_;
};

using Notes = std::vector<Noted>;

TEST_F(Looking, WhatFaultedAndIsThereNeedsNoNote) {
    set(kBlock, 1, kHere);
    fault(kBlock);
    EXPECT_EQ(look(), Notes{});
}

TEST_F(Looking, TheRestOfAHugePageIsInMemory) {
    set(kBlock, kBlock, kHere);
    fault(kBlock + 7);
    EXPECT_EQ(look(), (Notes{{kInMemory, kBlock, 7}, {kInMemory, kBlock + 8, kBlock - 8}}));
}

TEST_F(Looking, WhatIsSharedOrSwappedMayFaultForAnotherReason) {
    set(kBlock, 1, kShared);
    set(kBlock + 1, 1, kSwapped);
    fault(kBlock);
    EXPECT_EQ(look(), (Notes{{kToCopy, kBlock, 2}}));
}

TEST_F(Looking, AFaultThatTheKernelHasNotHandledYetMayFaultForAnotherReason) {
    fault(kBlock);
    EXPECT_EQ(look(), (Notes{{kToCopy, kBlock, 1}}));
    set(kBlock, kBlock, kHere);  // checked again, although no other page of the block had a fault
    EXPECT_EQ(look(), (Notes{{kInMemory, kBlock, kBlock}}));
}

TEST_F(Looking, WhatDoesNotComeIsGone) {
    fault(kBlock);
    look();
    EXPECT_EQ(look(kBegan + kSecond), Notes{});
    EXPECT_EQ(look(kBegan + 5 * kSecond), (Notes{{kGone, kBlock, 1}}));
    EXPECT_EQ(look(kBegan + 5 * kSecond), Notes{});
}

TEST_F(Looking, AThreadThatFaultsAnewIsDoneWithItsFaultBefore) {
    fault(kBlock, 1, 10);
    fault(kBlock + 1, 2, 10);
    EXPECT_EQ(look(), (Notes{{kToCopy, kBlock, 2}}));
    set(3 * kBlock, 1, kHere);
    fault(3 * kBlock, 1, kBegan + 10);
    EXPECT_EQ(look(kBegan + 20), (Notes{{kGone, kBlock, 1}}));
    set(kBlock + 1, 1, kHere);
    EXPECT_EQ(look(kBegan + 30), (Notes{{kInMemory, kBlock + 1, 1}}));
}

TEST_F(Looking, AFaultMayBeReportedAfterALaterOneOfItsThread) {
    fault(kBlock, 1, 20);
    fault(kBlock + 1, 1, 10);
    EXPECT_EQ(look(), (Notes{{kToCopy, kBlock, 1}, {kGone, kBlock + 1, 1}}));
}

TEST_F(Looking, WhatWasThereAndIsNotIsGoneAtOnce) {
    set(kBlock, 3, kHere);
    fault(kBlock);
    look();
    set(kBlock, 3, 0);
    fault(kBlock + 8);  // so that the block is checked
    set(kBlock + 8, 1, kHere);
    EXPECT_EQ(look(), (Notes{{kGone, kBlock, 3}}));
}

TEST_F(Looking, AProcessWithoutAPageTableHasEnded) {
    std::vector<FaultEntry> entries;
    PagesInMemory none(1, "/nonexistent/pagemap");
    EXPECT_FALSE(none.look(entries, kBegan, 0, 0));
    EXPECT_TRUE(entries.empty());
}

}  // namespace
}  // namespace numascape
