// SPDX-License-Identifier: Apache-2.0
#include "wanted_event.h"

#include <gtest/gtest.h>

namespace numascape {
namespace {

constexpr uint32_t kIbs = 11;  // as a kernel may number the device

Wanted ibs() {
    Wanted wanted{0, 0, false, false};
    wanted.type = kIbs;
    wanted.frequency = 1000;
    wanted.filter = 1;
    return wanted;
}

// The flags with which the kernel refuses an event whose device cannot leave anything out
// (event_has_any_exclude_flag of linux/perf_event.h).
bool excludes(const perf_event_attr& attributes) {
    return attributes.exclude_user || attributes.exclude_kernel || attributes.exclude_hv ||
           attributes.exclude_idle || attributes.exclude_host || attributes.exclude_guest;
}

TEST(WantedEventTest, IbsExcludesNothing) {
    const perf_event_attr attributes = attributes_of(ibs());
    EXPECT_FALSE(excludes(attributes));
    EXPECT_EQ(attributes.config2, 0u);
}

TEST(WantedEventTest, UsersLeaveTheKernelOutByTheFilter) {
    const perf_event_attr attributes = without_kernel(attributes_of(ibs()), ibs());
    EXPECT_TRUE(attributes.exclude_kernel);
    EXPECT_EQ(attributes.config2, 1u);
}

TEST(WantedEventTest, ALeaderOnlyCounts) {
    Wanted loads = ibs();
    loads.leader = 0x8203;
    loads.from_exec = true;
    const perf_event_attr leader = leader_of(loads);
    EXPECT_EQ(leader.config, 0x8203u);
    EXPECT_EQ(leader.type, loads.type);
    EXPECT_EQ(leader.sample_period, 0u);
    EXPECT_TRUE(leader.disabled && leader.enable_on_exec && leader.inherit);
}

}  // namespace
}  // namespace numascape
