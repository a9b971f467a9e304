// SPDX-License-Identifier: Apache-2.0
#include "metrics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "examples.h"

namespace numascape::balance {
namespace {

// Two nodes of one core, with factor 3; task 0 sends 2 messages to task 1 and 5 to task 2.
Example two_nodes() {
    Example e = machine(2, 1, 3.0);
    add_tasks(e, {4.0, 1.0, 1.0}, {0, 0, 1});
    add_messages(e, {{0, 1, 2.0}, {0, 2, 5.0}});
    e.migrated_bytes = {10.0, 20.0, 40.0};
    return e;
}

TEST(Metrics, FollowTheirDefinitions) {
    const Example e = two_nodes();
    const Metrics now = measure(e.problem(), {0, 0, 1});
    EXPECT_DOUBLE_EQ(now.imbalance, 5.0 / 3.0);
    EXPECT_DOUBLE_EQ(now.communication, 2.0 * 1.0 + 5.0 * 3.0);
    EXPECT_DOUBLE_EQ(now.off_node_bytes, 500.0);
    EXPECT_EQ(now.migrations, 0U);
    EXPECT_DOUBLE_EQ(now.iteration_time, 5.0 + 17.0);

    const Metrics then = measure(e.problem(), {0, 1, 1});
    EXPECT_DOUBLE_EQ(then.imbalance, 4.0 / 3.0);
    EXPECT_DOUBLE_EQ(then.communication, 21.0);
    EXPECT_EQ(then.migrations, 1U);
    EXPECT_DOUBLE_EQ(then.migrated_bytes, 20.0);
}

TEST(Metrics, CountSpeedAndBackground) {
    Example e = two_nodes();
    e.speed = {2.0, 1.0};
    e.background = {1.0, 0.5};
    const Metrics now = measure(e.problem(), {0, 0, 1});
    // Work 6 + 1 * 2 + 0.5 * 1 on speeds that sum to 3; core 0 takes 1 + 5 / 2.
    EXPECT_DOUBLE_EQ(now.imbalance, 3.5 / (8.5 / 3.0));
}

TEST(Metrics, CostsOfMessagesAreCountAndBytes) {
    Example e = two_nodes();
    Arrays a = e.arrays();
    a.cost_per_message = 0.5;
    a.cost_per_byte = 0.01;
    EXPECT_DOUBLE_EQ(measure(Problem(a), {0, 0, 1}).communication, (1.0 + 2.0) + 3.0 * (2.5 + 5.0));
}

TEST(Metrics, TimesComeFromLatencyAndBandwidth) {
    Example e = two_nodes();
    e.latency = {0.0, 0.1, 0.1, 0.0};
    e.bandwidth = {100.0, 50.0, 50.0, 100.0};
    EXPECT_DOUBLE_EQ(measure(e.problem(), {0, 0, 1}).iteration_time,
                     5.0 + 200.0 / 100.0 + 5.0 * 0.1 + 500.0 / 50.0);
}

TEST(Metrics, TellMemoryThatDoesNotFit) {
    Example e = two_nodes();
    e.memory = {6.0, 6.0, 1.0};
    e.node_memory = {10.0, 10.0};
    EXPECT_DOUBLE_EQ(measure(e.problem(), {0, 0, 1}).memory_overflow, 2.0);
    EXPECT_DOUBLE_EQ(measure(e.problem(), {0, 1, 1}).memory_overflow, 0.0);
}

TEST(Problem, RefusesWhatContradictsItself) {
    const auto refuses = [](auto&& damage) {
        Example e = two_nodes();
        damage(e);
        EXPECT_THROW(e.problem(), BalanceError);
    };
    refuses([](Example& e) { e.core[1] = 2; });
    refuses([](Example& e) { e.core.pop_back(); });
    refuses([](Example& e) { e.load[0] = -1.0; });
    refuses([](Example& e) { e.load[0] = NAN; });
    refuses([](Example& e) { e.load[0] = INFINITY; });
    refuses([](Example& e) { e.to[0] = 3; });
    refuses([](Example& e) { e.offsets[1] = 9; });
    refuses([](Example& e) { e.factor.pop_back(); });
    refuses([](Example& e) { e.core_node[0] = 70000; });
    refuses([](Example& e) { e.core_node.clear(); });
    refuses([](Example& e) { e.speed = {0.0, 1.0}; });
    refuses([](Example& e) { e.count[0] = -2.0; });
}

TEST(Mapping, IsCheckedAgainstTheProblem) {
    Example e = two_nodes();
    e.fixed = {1, 0, 0};
    EXPECT_THROW(measure(e.problem(), {0, 0}), BalanceError);
    EXPECT_THROW(measure(e.problem(), {0, 0, 2}), BalanceError);
    EXPECT_THROW(measure(e.problem(), {1, 0, 1}), BalanceError);
}

}  // namespace
}  // namespace numascape::balance
