// SPDX-License-Identifier: Apache-2.0
#include "starts.h"

#include <algorithm>

#include "algorithms.h"
#include "communication.h"
#include "grouped_partition.h"
#include "relabel.h"

namespace numascape::balance {

namespace {

constexpr std::string_view kOwn[] = {kStartNow, kStartScratch, kStartTwoLevel,
                                     kStartTwoLevelScotch};

// With fewer tasks, several partitions of all tasks take no more time. With more than kLarge,
// Scotch's partition of a mesh of a million tasks leads to 3 % less communication in less time.
constexpr std::size_t kFewestGrouped = 6000;
// If there are more edges and tasks have few neighbours, as in a mesh, only Scotch's partition is
// made. It is better than that of METIS. For a million tasks, each of the two takes about twice as
// long as METIS.
constexpr std::size_t kOnePartitionEdges = 2'000'000;
// On large graphs, Scotch cuts less if it uses only recursive bipartitioning: 5 % less on a mesh of
// a million tasks, 0.3 % less on one of 97 000. On graphs of 10 000 tasks, it cuts up to 1 % more.
constexpr std::size_t kRecursiveTasks = 50'000;

// A partition onto nodes has few parts, so more passes than METIS' 10 are cheap. On random graphs
// of 97 000 tasks, 30 passes cut 1 % less and take 1.5 times as long; 50 passes cut 0.2 % less
// than 30. With a million tasks, 10 passes take 1.4 to 2.2 times METIS' time, and still cut less
// than METIS in two levels.
constexpr int kMetisPasses = 30;
constexpr int kMetisPassesOnLarge = 10;
constexpr std::size_t kLarge = 500'000;

// Where tasks have few neighbours, METIS' partitions of graphs of this size onto nodes differ by up
// to 15 %, because of random numbers. Each takes a tenth of the time of METIS onto cores. On meshes
// and AMR graphs of 10 000 tasks, the best of four leads to 2 % less communication than one; on
// meshes, the best of eight is not better than that. On power law and random graphs, there is no
// difference.
constexpr std::size_t kMediumTasks = 6000, kMediumTasksEnd = 20'000;
constexpr int kMetisCuts = 4;

// Whether METIS divides groups of tasks for "twolevel".
bool groups_tasks(const Problem& problem) {
    return problem.tasks() >= kFewestGrouped && problem.tasks() < kLarge &&
           few_neighbours(problem.messages(), problem.tasks()) &&
           can_partition_groups(problem.tasks(), problem.nodes());
}

// Whether any migration could save its price. A task's migration saves at most what its messages
// now cost more than on the cheapest pair of nodes.
bool communication_may_pay(const SearchState& now) {
    if (now.communication() > now.goal().max_communication) return true;
    const Problem& problem = now.problem();
    const CommunicationGraph& graph = now.level().graph;
    const double cheapest = problem.factors().smallest();
    for (Task t = 0; t < now.level().size(); ++t) {
        const Node here = problem.node(now.mapping()[t]);
        double saved = 0.0;
        for (auto e = graph.offsets[t]; e < graph.offsets[t + 1]; ++e) {
            const Node there = problem.node(now.mapping()[graph.neighbour[e]]);
            saved += graph.sent[e] * (problem.factor(here, there) - cheapest);
            if (graph.received.empty()) continue;
            saved += graph.received[e] * (problem.factor(there, here) - cheapest);
        }
        const bool pays = now.goal().communication_weight * saved > now.price(t);
        if (pays && !now.level().fixed[t]) return true;
    }
    return false;
}

// Scotch's mapping onto all cores takes 0.9 to 1.6 times as long as METIS. With several factors, it
// is sometimes better than in two levels. With one, annealing makes these better: of 176 graphs of
// 300 to 4000 tasks, Scotch was better on one mesh, by 0.8 %.
bool scotch_may_be_best(const Problem& problem, const Options& options) {
    return options.effort < 1.0 || problem.factors().between_any() < 0.0;
}

Mapping on_nodes(std::string_view name, const Problem& nodes, const Options& options,
                 const TimeLimit& limit) {
    if (name == kStartTwoLevelScotch) return scotch_map(nodes, options);
    return is_refined(name, nodes) ? partition_groups(nodes, options, limit)
                                   : metis(nodes, options);
}

}  // namespace

bool is_refined(std::string_view name, const Problem& problem) {
    return name == kStartTwoLevel && groups_tasks(problem);
}

std::vector<std::string_view> chosen_starts(const SearchState& now, const Options& options,
                                            bool small) {
    if (!options.starts.empty()) return {options.starts.begin(), options.starts.end()};
    std::vector<std::string_view> chosen{kStartNow};
    if (!communication_may_pay(now)) return chosen;
    const std::size_t edges = now.level().graph.neighbour.size();
    const bool few = few_neighbours(now.level().graph), grouped = groups_tasks(now.problem());
    if (grouped || !few || edges <= kOnePartitionEdges) chosen.push_back(kStartTwoLevel);
    if (few && !grouped) chosen.push_back(kStartTwoLevelScotch);
    if (small && scotch_may_be_best(now.problem(), options)) chosen.push_back(kStartScotch);
    if (small) chosen.push_back(kStartScratch);
    return chosen;
}

void check_starts(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
        std::string known;
        bool found = false;
        for (std::string_view own : kOwn) {
            found = found || name == own;
            known += std::string(known.empty() ? "" : ", ") + std::string(own);
        }
        for (const Algorithm& other : algorithms()) {
            if (other.run == incumbent_search) continue;
            found = found || name == other.name;
            known += std::string(", ") + other.name;
        }
        if (!found) {
            throw BalanceError("there is no start " + name + ": choose from " + known);
        }
    }
}

Mapping start_mapping(std::string_view name, const NodeProblem& nodes, const Problem& problem,
                      const Options& options, const TimeLimit& limit) {
    if (name == kStartNow) return problem.current();
    if (name != kStartTwoLevel && name != kStartTwoLevelScotch) {
        return relabel(problem, algorithm(name).run(problem, options));
    }
    Options settings = options;
    settings.metis_passes = problem.tasks() < kLarge ? kMetisPasses : kMetisPassesOnLarge;
    const bool medium = problem.tasks() >= kMediumTasks && problem.tasks() <= kMediumTasksEnd;
    if (medium && few_neighbours(problem.messages(), problem.tasks()))
        settings.metis_cuts = kMetisCuts;
    settings.scotch_recursive = problem.tasks() > kRecursiveTasks;
    const double longest = search_goal(problem, options).longest;
    if (problem.perfect_time() > 0.0) settings.max_imbalance = longest / problem.perfect_time();
    const Mapping parts = on_nodes(name, nodes.problem(), settings, limit);
    return nodes.on_cores(relabel(nodes.problem(), parts), problem.current(), longest);
}

}  // namespace numascape::balance
