// SPDX-License-Identifier: Apache-2.0
//
// The incumbent-aware search and its parts.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "algorithms.h"
#include "assignment.h"
#include "examples.h"
#include "metrics.h"
#include "node_annealing.h"
#include "relabel.h"
#include "search_state.h"

namespace numascape::balance {
namespace {

TEST(Assignment, IsTheBestOfAll) {
    Random random(1);
    for (int round = 0; round < 20; ++round) {
        std::vector<double> values(25);
        for (double& value : values) value = random.below(50);
        const auto sum = [&](const std::vector<std::uint32_t>& columns) {
            double total = 0.0;
            for (std::size_t i = 0; i < 5; ++i) total += values[i * 5 + columns[i]];
            return total;
        };
        std::vector<std::uint32_t> columns(5);
        std::iota(columns.begin(), columns.end(), 0U);
        double best = 0.0;
        do {
            best = std::max(best, sum(columns));
        } while (std::next_permutation(columns.begin(), columns.end()));
        EXPECT_EQ(sum(best_assignment(values, 5)), best);
        EXPECT_GE(2.0 * sum(greedy_assignment(values, 5)), best);
        auto used = greedy_assignment(values, 5);
        std::sort(used.begin(), used.end());
        EXPECT_EQ(used, (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
    }
}

TEST(Relabel, UndoesARenumbering) {
    Example e = random_example(1, 120, 4, 4);
    e.factor = machine(4, 4, 2.0).factor;
    e.fixed.clear();
    const Problem problem = e.problem();
    // Nodes rotated, and cores within them reversed.
    Mapping renumbered = problem.current();
    for (Core& core : renumbered) core = (core / 4 + 1) % 4 * 4 + (3 - core % 4);
    EXPECT_EQ(relabel(problem, renumbered), problem.current());
}

TEST(Relabel, KeepsLoadsAndCommunication) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        const Example e = random_example(seed, 100, 3, 4);
        const Problem problem = e.problem();
        const Mapping mapping = greedy(problem, {});
        const Metrics before = measure(problem, mapping);
        const Metrics after = measure(problem, relabel(problem, mapping));
        EXPECT_NEAR(after.imbalance, before.imbalance, 1e-12);
        EXPECT_NEAR(after.communication, before.communication, 1e-9 * before.communication);
        EXPECT_LE(after.migrations, before.migrations);
    }
}

TEST(SearchState, KeepsCountWhileItemsMove) {
    for (bool symmetric : {true, false}) {
        const Example e = random_example(2, 80, 4, 2, symmetric);
        const Problem problem = e.problem();
        const Level level = finest_level(problem);
        const Goal goal = search_goal(problem, {});
        SearchState state(problem, level, goal, problem.current());
        Random random(1);
        for (int i = 0; i < 500; ++i) state.move(random.below(80), random.below(8));
        const SearchState fresh(problem, level, goal, state.mapping());
        // The walk also moved fixed tasks, which a mapping may not do.
        Example free = e;
        free.fixed.clear();
        const Metrics metrics = measure(free.problem(), state.mapping());
        EXPECT_NEAR(state.communication(), fresh.communication(), 1e-6);
        EXPECT_NEAR(state.overtime(), fresh.overtime(), 1e-9);
        EXPECT_NEAR(state.cost(), fresh.cost(), 1e-6);
        EXPECT_EQ(state.migrations(), double(metrics.migrations));
        EXPECT_NEAR(state.migrated_bytes(), metrics.migrated_bytes, 1e-6);
    }
}

TEST(Coarsening, KeepsWhatItGroups) {
    Example e = mesh(20, 2, 2, 2.0);
    const Problem problem = e.problem();
    const Level fine = finest_level(problem);
    const auto coarse = coarsen(fine, 1e9, true, 1);
    ASSERT_TRUE(coarse.has_value());
    const Level& level = coarse->level;
    EXPECT_LT(level.size(), 250U);
    EXPECT_EQ(std::accumulate(level.load.begin(), level.load.end(), 0.0), 400.0);
    EXPECT_EQ(std::accumulate(level.count.begin(), level.count.end(), 0U), 400U);
    for (Task t = 0; t < 400; ++t) EXPECT_EQ(level.home[coarse->group[t]], fine.home[t]);
    // The messages between groups are those between their tasks.
    double across = 0.0;
    for (Task t = 0; t < 400; ++t) {
        for (auto i = fine.graph.offsets[t]; i < fine.graph.offsets[t + 1]; ++i) {
            if (coarse->group[t] != coarse->group[fine.graph.neighbour[i]]) {
                across += fine.graph.sent[i];
            }
        }
    }
    EXPECT_EQ(std::accumulate(level.graph.sent.begin(), level.graph.sent.end(), 0.0), across);
}

TEST(Incumbent, LeavesABalancedMappingAlone) {
    const Example blocks = mesh(16, 4, 4, 2.5);
    EXPECT_EQ(incumbent_search(blocks.problem(), {}), blocks.core);
    Example silent = machine(2, 4, 2.0);
    for (Task t = 0; t < 64; ++t) silent.load.push_back(1.0), silent.core.push_back(t % 8);
    EXPECT_EQ(incumbent_search(silent.problem(), {}), silent.core);
}

TEST(Incumbent, MovesAsFewAsBalanceNeeds) {
    // Eight tasks of one second are on core 0 of 4: each of the three others needs two.
    Example e = machine(2, 2, 2.0);
    add_tasks(e, std::vector<double>(8, 1.0), std::vector<Core>(8, 0));
    Options options;
    options.max_imbalance = 1.0;
    const Metrics metrics = measure(e.problem(), incumbent_search(e.problem(), options));
    EXPECT_EQ(metrics.imbalance, 1.0);
    EXPECT_EQ(metrics.migrations, 6U);
}

TEST(Incumbent, KeepsItsCaps) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        Example e = random_example(seed, 150, 4, 2);
        e.fixed.clear();
        const Problem problem = e.problem();
        Options options;
        options.effort = 0.2;
        options.max_imbalance = 1.1;
        const Metrics free = measure(problem, incumbent_search(problem, options));
        EXPECT_LE(free.imbalance, 1.1 + 1e-9);
        options.max_imbalance = 10.0;
        options.max_migrations = 7;
        options.migration_price = 0.01;
        const Metrics few = measure(problem, incumbent_search(problem, options));
        EXPECT_LE(few.migrations, 7U);
        EXPECT_LT(few.communication, measure(problem, e.core).communication);
        options.max_migrations = INFINITY;
        options.max_migrated_bytes = 2000.0;
        EXPECT_LE(measure(problem, incumbent_search(problem, options)).migrated_bytes, 2000.0);
    }
}

TEST(Incumbent, RatherExceedsTheImbalanceThanTheMigrationsAllowed) {
    Example e = machine(2, 2, 2.0);
    add_tasks(e, std::vector<double>(40, 1.0), std::vector<Core>(40, 0));
    Options options;
    options.max_migrations = 3;
    const Metrics metrics = measure(e.problem(), incumbent_search(e.problem(), options));
    EXPECT_EQ(metrics.migrations, 3U);
    EXPECT_EQ(metrics.imbalance, 3.7);
}

TEST(Incumbent, KeepsNodesWithinTheirMemory) {
    Example e = machine(2, 2, 3.0);
    add_tasks(e, std::vector<double>(12, 1.0), {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1});
    e.memory.assign(12, 1.0);
    e.node_memory = {12.0, 2.0};
    Options options;
    options.max_imbalance = 1.0;
    EXPECT_EQ(measure(e.problem(), incumbent_search(e.problem(), options)).memory_overflow, 0.0);
}

TEST(Incumbent, DoesNotDependOnThreads) {
    const Example e = random_example(8, 200, 4, 2);
    Options one, many;
    one.effort = many.effort = 0.1;
    many.threads = 4;
    EXPECT_EQ(incumbent_search(e.problem(), one), incumbent_search(e.problem(), many));
}

TEST(Incumbent, EndsWhenItsTimeIsOver) {
    // Without a time limit, this effort would take days.
    const Example e = random_example(3, 400, 4, 2);
    const Problem problem = e.problem();
    Options options;
    options.effort = 1e6;
    options.time_limit = 0.3;
    options.max_imbalance = 1.1;
    const Metrics metrics = measure(problem, incumbent_search(problem, options));
    EXPECT_LE(metrics.imbalance, 1.1 + 1e-9);
    EXPECT_LT(metrics.communication, measure(problem, e.core).communication);
}

TEST(Incumbent, LeavesTasksWhereTheyAreWithoutTime) {
    const Example e = random_example(4, 200, 4, 2);
    Options options;
    options.time_limit = 0.0;
    EXPECT_EQ(incumbent_search(e.problem(), options), e.core);
}

// No worse in imbalance and communication than a baseline, with fewer migrations, even after the
// baseline's parts were renumbered in its favour.
void expect_dominance(const Problem& problem, const char* name) {
    Options options;
    const Mapping theirs = relabel(problem, algorithm(name).run(problem, options));
    const Metrics bound = measure(problem, theirs);
    options.max_imbalance = bound.imbalance;
    options.max_communication = bound.communication;
    options.communication_weight = 0.0;
    options.start = &theirs;
    const Metrics ours = measure(problem, incumbent_search(problem, options));
    EXPECT_LE(ours.imbalance, bound.imbalance * (1.0 + 1e-9)) << name;
    EXPECT_LE(ours.communication, bound.communication * (1.0 + 1e-9)) << name;
    EXPECT_LE(ours.migrations, bound.migrations) << name;
    // HwTopoLB often ends after few migrations, mostly from the slowest core: there may be no
    // mapping with fewer.
    if (bound.migrations > 0 && name != std::string("hwtopolb")) {
        EXPECT_LT(ours.migrations, bound.migrations) << name;
    }
}

TEST(Incumbent, DominatesEveryBaseline) {
    Example random = random_example(21, 200, 4, 4);
    random.fixed.clear();
    Example tilted = mesh(10, 4, 4, 2.5);
    for (Task t = 0; t < 100; ++t) tilted.load[t] = 1.0 + 0.3 * double(t / 10);
    for (const Example* e : {&random, &tilted}) {
        const Problem problem = e->problem();
        for (const Algorithm& baseline : algorithms()) {
            if (baseline.run != incumbent_search) expect_dominance(problem, baseline.name);
        }
    }
}

TEST(Incumbent, RefinesThroughLevels) {
    Example e = mesh(100, 4, 4, 2.5);
    Random random(3);
    for (double& load : e.load) load = 0.5 + random.share();
    for (Task t = 0; t < 2500; ++t) e.load[t] *= 2.0;
    const Problem problem = e.problem();
    const Metrics before = measure(problem, e.core);
    const Metrics after = measure(problem, incumbent_search(problem, {}));
    EXPECT_GT(before.imbalance, 1.5);
    EXPECT_LE(after.imbalance, 1.05 + 1e-9);
    // A fifth of the load is too much on node 0.
    EXPECT_LT(after.migrations, 3000U);
}

TEST(NodeAnnealing, LowersCommunicationWithinItsBounds) {
    // One core per node. Tasks are on the nodes in turn, so nearly all messages leave their nodes.
    for (const double factor : {2.0, 5.0}) {
        Example e = mesh(24, 6, 1, factor);
        for (Task t = 0; t < e.load.size(); ++t) e.core[t] = t % 6;
        e.fixed.assign(e.load.size(), 0);
        e.fixed[17] = e.fixed[100] = 1;
        const Problem problem = e.problem();
        const Level level = finest_level(problem);
        Options options;
        options.max_imbalance = 1.1;
        const Goal goal = search_goal(problem, options);
        SearchState state(problem, level, goal, e.core);
        Random random(1);
        anneal_communication(state, 300.0, random, TimeLimit());
        const SearchState again(problem, level, goal, state.mapping());
        EXPECT_NEAR(state.communication(), again.communication(), 1e-6);
        // Messages beyond those of a node: less than a third is left.
        const double all = double(problem.messages());
        EXPECT_LT(state.communication() - all,
                  (SearchState(problem, level, goal, e.core).communication() - all) / 3.0);
        EXPECT_EQ(state.overtime(), 0.0);
        EXPECT_EQ(state.mapping()[17], 17U % 6);
        EXPECT_EQ(state.mapping()[100], 100U % 6);
    }
}

TEST(NodeAnnealing, LeavesDirectedCostsAlone) {
    Example e = mesh(10, 2, 1, 2.0);
    e.factor = {1.0, 3.0, 2.0, 1.0};
    for (Task t = 0; t < e.load.size(); ++t) e.core[t] = t % 2;
    const Problem problem = e.problem();
    const Level level = finest_level(problem);
    SearchState state(problem, level, search_goal(problem, {}), e.core);
    Random random(1);
    anneal_communication(state, 100.0, random, TimeLimit());
    EXPECT_EQ(state.mapping(), e.core);
}

TEST(ParetoFront, HasNoPointThatAnotherBeats) {
    Example e = random_example(5, 80, 2, 4);
    const Problem problem = e.problem();
    Options options;
    options.effort = 0.1;
    const std::vector<Mapping> front = pareto_front(problem, options);
    ASSERT_GE(front.size(), 3U);
    EXPECT_EQ(front[0], problem.current());
    for (const Mapping& a : front) {
        for (const Mapping& b : front) {
            if (&a == &b) continue;
            const Metrics x = measure(problem, a), y = measure(problem, b);
            EXPECT_FALSE(x.imbalance <= y.imbalance && x.communication <= y.communication &&
                         x.migrations <= y.migrations);
        }
    }
}

}  // namespace
}  // namespace numascape::balance
