// SPDX-License-Identifier: Apache-2.0
#include "runtime_code.h"

#include <gtest/gtest.h>

namespace numascape {
namespace {

constexpr uint32_t kSharedPage = 7;
constexpr uint64_t kRuntime = 0x7000'0000;
constexpr uint64_t kProgramCode = 0x40'0000;

// Owner 0 is the runtime's, owner 1 what it allocated for the program, 2 and 3 are the program's.
class RuntimeCodeTest : public testing::Test {
  protected:
    RuntimeCodeTest() : code(stacks) {
        stacks[10].frames = {kRuntime + 1, kRuntime + 2, kProgramCode + 3};
        stacks[11].frames = {kRuntime + 1, kProgramCode + 2, kProgramCode + 3};
        stacks[12].frames = {kProgramCode + 1, kRuntime + 2, kProgramCode + 3};
        stacks[13].stack.resize(8);  // a copy
        owners.stack_id = {10, 11, 12, 13};
        code.load_module(kRuntime, kRuntime + 0x1000, "/usr/lib/libgomp.so.1.0.0");
        code.load_module(kProgramCode, kProgramCode + 0x1000, "/home/user/libgompertz.so");
    }
    std::vector<double> weights() {
        std::vector<double> found(4, 0);
        for (const PageShares::Share& share : shares) {
            found[share.owner] += share.weight;
        }
        return found;
    }
    std::unordered_map<uint64_t, CallStack> stacks;
    Owners owners;
    RuntimeCode code;
    std::vector<PageShares::Share> shares{{0, 1}, {1, 1}, {2, 3}, {3, 4}, {0, 1}};
};

TEST_F(RuntimeCodeTest, SamplesTellThePartOfTheRuntime) {
    code.add_sample(kSharedPage, 0, kRuntime + 0x10, {900, 30});
    code.add_sample(kSharedPage, 0, kProgramCode + 0x10, {100, 10});
    code.add_sample(kSharedPage, 1, kProgramCode + 0x10, {100, 0});
    EXPECT_DOUBLE_EQ(code.part(kSharedPage, 0)->reads, 0.9);
    EXPECT_DOUBLE_EQ(code.part(kSharedPage, 0)->writes, 0.75);
    EXPECT_EQ(code.part(kSharedPage, 1)->reads, 0);
    EXPECT_EQ(code.part(kSharedPage, 1)->writes, 0);
    EXPECT_FALSE(code.part(kSharedPage, 2));
    EXPECT_FALSE(code.part(kSharedPage + 1, 0));
    code.forget_samples(kSharedPage);
    EXPECT_FALSE(code.part(kSharedPage, 0));
}

TEST_F(RuntimeCodeTest, SamplesTellNothingAfterTheRuntimeIsUnloaded) {
    code.add_sample(kSharedPage, 0, kRuntime + 0x10, {900, 30});
    code.unload_module(kRuntime);
    EXPECT_FALSE(code.part(kSharedPage, 0));
}

TEST_F(RuntimeCodeTest, GivesItsPartToWhatTheRuntimeOwns) {
    code.give(0.9, shares, owners);
    const std::vector<double> found = weights();
    EXPECT_DOUBLE_EQ(found[0], 9);
    EXPECT_DOUBLE_EQ(found[1] + found[2] + found[3], 1);
    EXPECT_DOUBLE_EQ(found[2], 3 * found[1]);
}

TEST_F(RuntimeCodeTest, KeepsSharesThatAreAllOfOneKind) {
    shares = {{1, 1}, {2, 3}};
    code.give(0.9, shares, owners);
    EXPECT_EQ(weights(), (std::vector<double>{0, 1, 3, 0}));
}

TEST_F(RuntimeCodeTest, KeepsTheOwnersOfOneKindOfCode) {
    code.keep(true, shares, owners);
    EXPECT_EQ(weights(), (std::vector<double>{10, 0, 0, 0}));
    shares = {{0, 1}, {2, 3}};
    code.keep(false, shares, owners);
    EXPECT_EQ(weights(), (std::vector<double>{0, 0, 4, 0}));
}

}  // namespace
}  // namespace numascape
