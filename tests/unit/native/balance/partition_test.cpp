// SPDX-License-Identifier: Apache-2.0
//
// Partitions of groups, and minimum cuts between two parts.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "examples.h"
#include "grouped_partition.h"
#include "metrics.h"
#include "minimum_cut.h"
#include "pair_cuts.h"
#include "search_state.h"
#include "starts.h"

namespace numascape::balance {
namespace {

struct Cut {
    std::vector<double> load, more;
    std::vector<bool> first;
    struct Pair {
        std::uint32_t i, j;
        double cost;
    };
    std::vector<Pair> pairs;

    double cost(const std::vector<bool>& on_first) const {
        double sum = 0.0;
        for (std::size_t i = 0; i < load.size(); ++i) sum += on_first[i] ? 0.0 : more[i];
        for (const Pair& p : pairs) sum += on_first[p.i] != on_first[p.j] ? p.cost : 0.0;
        return sum;
    }
    double first_load(const std::vector<bool>& on_first) const {
        double sum = 0.0;
        for (std::size_t i = 0; i < load.size(); ++i) sum += on_first[i] ? load[i] : 0.0;
        return sum;
    }
};

Cut random_cut(std::uint64_t seed) {
    Random random(seed);
    Cut cut;
    for (std::uint32_t i = 0; i < 10; ++i) {
        cut.load.push_back(1.0 + random.share());
        cut.more.push_back(8.0 * random.share() - 4.0);
        cut.first.push_back(random.below(2) == 0);
        for (std::uint32_t j = 0; j < i; ++j) {
            if (random.below(3) == 0) cut.pairs.push_back({i, j, 3.0 * random.share()});
        }
    }
    return cut;
}

// The division that is found, or the present one.
std::vector<bool> divided(const Cut& cut, double least, double most) {
    MinimumCut network;
    network.clear(cut.load.size());
    for (std::uint32_t i = 0; i < cut.load.size(); ++i) {
        network.item(i, cut.load[i], cut.more[i], cut.first[i], cut.first[i] ? 1 : -1);
    }
    for (const Cut::Pair& p : cut.pairs) network.connect(p.i, p.j, p.cost);
    if (!network.divide(least, most)) return cut.first;
    std::vector<bool> on_first;
    for (std::uint32_t i = 0; i < cut.load.size(); ++i) on_first.push_back(network.first(i));
    return on_first;
}

double cheapest(const Cut& cut) {
    double least = cut.cost(cut.first);
    for (unsigned bits = 0; bits < 1U << cut.load.size(); ++bits) {
        std::vector<bool> on_first;
        for (std::size_t i = 0; i < cut.load.size(); ++i) on_first.push_back(bits >> i & 1);
        least = std::min(least, cut.cost(on_first));
    }
    return least;
}

TEST(MinimumCut, IsTheCheapestOfAll) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        const Cut cut = random_cut(seed);
        EXPECT_NEAR(cut.cost(divided(cut, -1e9, 1e9)), cheapest(cut), 1e-9) << seed;
    }
}

TEST(MinimumCut, KeepsTheBoundsAndCostsLess) {
    int found = 0, fixed = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const Cut cut = random_cut(seed);
        const std::vector<bool> result = divided(cut, -0.5, 0.5);
        if (result == cut.first) continue;
        EXPECT_LT(cut.cost(result), cut.cost(cut.first));
        EXPECT_NEAR(cut.first_load(result), cut.first_load(cut.first), 0.5 + 1e-9);
        ++found;
        // Its side is not that of the cheapest cut: items were fixed to keep the bounds.
        fixed += cut.cost(result) > cheapest(cut) + 1e-9;
    }
    EXPECT_GT(found, 50);
    EXPECT_GT(fixed, 20);
}

// Tasks of a mesh on `nodes` nodes of one core, whose borders are jagged.
Example jagged(Node nodes) {
    Example e = mesh(20, nodes, 1, 2.0);
    Random random(5);
    for (Task t = 0; t < e.load.size(); ++t) {
        e.load[t] = 0.8 + 0.4 * random.share();
        if (random.below(5) == 0) e.core[t] = (e.core[t] + 1) % nodes;
    }
    return e;
}

// The mapping after cuts, which starts at the present one.
Mapping after_cuts(const Problem& problem, const Options& options, const Mapping& start) {
    const Level level = finest_level(problem);
    SearchState state(problem, level, search_goal(problem, options), start);
    Random random(1);
    cut_pairs(state, random, 5, TimeLimit());
    const SearchState fresh(problem, level, state.goal(), state.mapping());
    EXPECT_NEAR(state.cost(), fresh.cost(), 1e-6);
    EXPECT_FALSE(better(SearchState(problem, level, state.goal(), start), fresh));
    return state.mapping();
}

TEST(PairCuts, LowerCommunicationWithinTheBoundOnTime) {
    Example e = jagged(4);
    e.fixed.assign(e.load.size(), 0);
    e.fixed[21] = e.fixed[210] = 1;
    // Costs of both directions are different, and one node is twice as fast.
    for (const bool directed : {false, true}) {
        if (directed) {
            e.factor[1] = 3.0, e.factor[4] = 1.5;
            e.speed = {1.0, 2.0, 1.0, 1.0};
        }
        const Problem problem = e.problem();
        Options options;
        options.max_imbalance = measure(problem, e.core).imbalance;
        options.migration_price = 0.0;
        const Mapping found = after_cuts(problem, options, e.core);
        const double all = double(problem.messages());
        EXPECT_LT(measure(problem, found).communication - all,
                  0.7 * (measure(problem, e.core).communication - all));
        EXPECT_LE(measure(problem, found).imbalance, options.max_imbalance * (1.0 + 1e-9));
        EXPECT_EQ(found[21], e.core[21]);
        EXPECT_EQ(found[210], e.core[210]);
    }
}

TEST(PairCuts, LeaveTasksWhoseMigrationCostsMore) {
    const Example e = jagged(4);
    const Problem problem = e.problem();
    Options options;
    options.max_imbalance = 1.5;
    options.migration_price = 1000.0;
    EXPECT_EQ(after_cuts(problem, options, e.core), e.core);
}

TEST(PairCuts, KeepBoundsOnMigrationsAndMemory) {
    Example e = jagged(2);
    e.memory.assign(e.load.size(), 1.0);
    const double on_first = double(std::count(e.core.begin(), e.core.end(), 0U));
    e.node_memory = {on_first, double(e.load.size()) - on_first + 2.0};
    const Problem problem = e.problem();
    Options options;
    options.max_imbalance = 1.5;
    options.migration_price = 0.0;
    const Mapping found = after_cuts(problem, options, e.core);
    EXPECT_EQ(measure(problem, found).memory_overflow, 0.0);
    options.max_migrations = 3;
    EXPECT_LE(measure(problem, after_cuts(problem, options, e.core)).migrations, 3U);
}

TEST(GroupedPartition, IsBalancedAndLeavesFixedTasks) {
    Example e = mesh(80, 4, 1, 2.0);
    e.fixed.assign(e.load.size(), 0);
    e.fixed[0] = e.fixed[6399] = 1;
    std::swap(e.core[0], e.core[6399]);
    const Problem problem = e.problem();
    Options options;
    options.effort = 0.2;
    const Mapping found = partition_groups(problem, options, TimeLimit());
    EXPECT_EQ(found, partition_groups(problem, options, TimeLimit()));
    const Metrics metrics = measure(problem, found);
    EXPECT_LE(metrics.imbalance, 1.05 + 1e-9);
    EXPECT_EQ(found[0], e.core[0]);
    EXPECT_EQ(found[6399], e.core[6399]);
    // Three strips have 480 messages across, and squares 320.
    EXPECT_LT(metrics.communication - double(problem.messages()), 400.0);
}

TEST(GroupedPartition, IsUsedForManyTasksWithFewNeighbours) {
    const Example e = mesh(80, 4, 4, 2.0);
    const Problem problem = e.problem();
    const NodeProblem nodes(problem);
    Options options;
    options.effort = 0.2;
    const Mapping start = start_mapping(kStartTwoLevel, nodes, problem, options);
    options.starts = {"twolevel"};
    options.iterations = 1e6;
    const Objective found = objective(problem, incumbent_search(problem, options), options);
    const Objective given = objective(problem, start, options);
    EXPECT_EQ(found.excess, 0.0);
    if (given.excess <= 0.0) {
        EXPECT_LE(found.cost, given.cost);
    }
    options.starts.clear();
    options.max_migrations = 30;
    const Mapping few = incumbent_search(problem, options);
    EXPECT_LE(measure(problem, few).migrations, 30U);
}

}  // namespace
}  // namespace numascape::balance
