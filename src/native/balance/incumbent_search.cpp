// SPDX-License-Identifier: Apache-2.0
//
// Our own balancer. It starts from the present mapping, and each migration must be worth its price.
// It minimises
//
//     communication_weight * communication cost + sum over migrated tasks of
//     (migration_price + byte_price * bytes)
//
// under hard caps on the time of the slowest core and, optionally, on communication cost,
// migrations and migrated bytes. It uses the best of several tries, which begin at different starts
// (starts.h), so the result is never worse than a start. From the present mapping and from scratch,
// a try uses a multilevel hierarchy (groups of communicating tasks with the same home): simulated
// annealing finds a mapping on the coarsest level, and finer levels refine it. Small problems are
// annealed without a hierarchy, at several temperatures: cool tries find mappings close to the
// present one, hot ones find others. From a partition, nodes come first (nodes_first.h).
//
// The tries do not depend on the number of threads, and neither does the result, unless time is
// limited.
#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <thread>

#include "algorithms.h"
#include "annealing.h"
#include "level.h"
#include "metrics.h"
#include "nodes_first.h"
#include "refinement.h"
#include "relabel.h"
#include "search_state.h"
#include "starts.h"
#include "time_limit.h"

namespace numascape::balance {

namespace {

// The largest number of items that are annealed at the finest level. Half of it is the goal for the
// coarsest level.
constexpr std::size_t kSmall = 6000;
// Fewest groups per core; with fewer, the load could not be balanced.
constexpr double kGroupsPerCore = 8.0;
// The price of all possible migrations, as shares of the communication cost. Below kLittle, the
// present mapping hardly matters as a start; on small problems, below kAlmostNone. From kMuch on,
// it gets all of its annealing.
constexpr double kAlmostNone = 0.002, kLittle = 0.02, kMuch = 0.1;
// Steps of annealing nodes, for each task: about half of METIS' time. A step takes longer on larger
// graphs, which do not fit into caches. The largest are not annealed.
constexpr double kNodeSteps = 1000.0, kNodeStepsOnLarge = 600.0;
constexpr std::size_t kAnnealed = 20'000;
constexpr double kTemperatures[] = {0.02, 0.1, 0.3, 1.0};

struct Hierarchy {
    std::vector<Coarsening> coarser;  // from the finest

    Hierarchy(const Problem& problem, const Level& finest, bool keep_homes, std::uint64_t seed) {
        const double work = problem.perfect_time() * double(problem.cores());
        const double heaviest = work / (double(problem.cores()) * kGroupsPerCore);
        const std::size_t wanted = std::max(kSmall / 2, 10 * problem.cores());
        const Level* level = &finest;
        while (level->size() > wanted) {
            auto next = coarsen(*level, heaviest, keep_homes, seed + coarser.size());
            if (!next) break;
            coarser.push_back(std::move(*next));
            level = &coarser.back().level;
        }
    }
};

using Try = std::function<Mapping(const TimeLimit&)>;

// What a try minimises, and how much of the annealing that depends on the price it does.
struct Aim {
    Goal goal;
    double effort = 1.0;
};

class IncumbentSearch {
  public:
    IncumbentSearch(const Problem& problem, const Options& options)
        : problem_(problem),
          options_(options),
          limit_(options.time_limit),
          goal_(search_goal(problem, options)),
          finest_(finest_level(problem)) {}

    Mapping run() {
        const Mapping home = problem_.current();
        const SearchState now(problem_, finest_, goal_, home);
        const auto names = chosen_starts(now, options_, finest_.size() <= kSmall);
        const std::vector<Aim> aims = chosen_aims(now);
        const Mapping found = best_of(tries_from(names, home, aims), home);
        if (aims.front().effort == 1.0 || within_caps(found)) return found;
        return best_of(tries_from(names, home, {{goal_}}), found);
    }

  private:
    std::vector<Try> tries_from(const std::vector<std::string_view>& names, const Mapping& home,
                                const std::vector<Aim>& aims) {
        std::vector<Try> tries;
        for (const Aim& aim : aims) {
            // A start's random numbers do not depend on how many tries the starts before it have.
            std::uint64_t seed = options_.seed * 1000;
            for (std::string_view name : names) add_tries(name, home, aim, seed += 10, tries);
        }
        if (options_.start != nullptr) {
            check_mapping(problem_, *options_.start);
            const Mapping start = relabel(problem_, *options_.start);
            add_tries_from(start, {goal_}, tries);
        }
        return tries;
    }

    // How much annealing the present mapping gets, and with which price. The less migrations cost,
    // the better are partitions as starts, and annealing takes many times as long as a partition.
    // On large problems, the work falls gradually with the price, so that a slightly different
    // price gives a similar result. On small problems, the tries have the same three prices and
    // the same work for all prices from kAlmostNone to kMuch: then no result has both more
    // communication and more migrations than the result for another of these prices. Where cores
    // have few tasks, annealing of tasks on cores is better at balancing them.
    std::vector<Aim> chosen_aims(const SearchState& now) const {
        const bool capped = goal_.max_communication < INFINITY || goal_.max_migrations < INFINITY ||
                            goal_.max_migrated_bytes < INFINITY;
        if (!options_.starts.empty() || options_.start != nullptr || capped ||
            double(problem_.tasks()) < 2.0 * kGroupsPerCore * double(problem_.cores())) {
            return {{goal_}};
        }
        double all = goal_.price * double(problem_.tasks());
        for (Task t = 0; t < problem_.tasks(); ++t) {
            all += goal_.byte_price * problem_.migrated_bytes(t);
        }
        const double communication = goal_.communication_weight * now.communication();
        if (all >= kMuch * communication) return {{goal_}};
        if (finest_.size() > kSmall) {
            const double beyond = std::max(0.0, all / communication - kLittle);
            return {{goal_, beyond / (kMuch - kLittle)}};
        }
        if (all < kAlmostNone * communication) return {{goal_, 0.0}};
        const double unit = communication / all;
        return {{priced(kMuch * unit), 0.5},
                {priced(kLittle * unit), 0.5},
                {priced(kAlmostNone * unit), 0.0}};
    }

    // The goal with these times the price of migrations.
    Goal priced(double times) const {
        Goal goal = goal_;
        goal.price *= times;
        goal.byte_price *= times;
        return goal;
    }

    bool within_caps(const Mapping& mapping) const {
        const SearchState state(problem_, finest_, goal_, mapping);
        return state.memory_excess() <= 0.0 && state.excess() <= 0.0;
    }

    void add_tries(std::string_view name, const Mapping& home, const Aim& aim, std::uint64_t seed,
                   std::vector<Try>& tries) {
        if (name == kStartScratch) {
            if (aim.effort == 0.0) return;
            tries.push_back([&, aim, seed](const TimeLimit& limit) {
                return from_scratch(aim, seed + 900, limit);
            });
        } else if (name != kStartNow) {
            tries.push_back([&, name, aim, seed](const TimeLimit& limit) {
                return from_partition(name, aim, seed, limit);
            });
        } else if (finest_.size() > kSmall) {
            tries.push_back([&, aim, seed](const TimeLimit& limit) {
                return from_homes(aim, seed + 1, limit);
            });
        } else {
            tries.push_back([&, home, aim](const TimeLimit& limit) {
                return refined(home, aim.goal, 1, limit);
            });
            if (steps(aim, finest_.size()) == 0) return;
            for (double temperature : kTemperatures) {
                ++seed;
                tries.push_back([&, home, aim, temperature, seed](const TimeLimit& limit) {
                    return annealed(home, aim, temperature, seed, limit);
                });
            }
        }
    }

    void add_tries_from(const Mapping& start, const Aim& aim, std::vector<Try>& tries) {
        tries.push_back([&, start, aim](const TimeLimit& limit) {
            return better_of(start, refined(start, aim.goal, 1, limit), aim.goal);
        });
        if (finest_.size() > kSmall) return;
        for (double temperature : {0.01, 0.05}) {
            const std::uint64_t seed = options_.seed * 1000 + 500 + tries.size();
            tries.push_back([&, start, aim, temperature, seed](const TimeLimit& limit) {
                return annealed(start, aim, temperature, seed, limit);
            });
        }
    }

    // Begins with a partition, which ignores what migrations cost. Improves it with their price.
    Mapping from_partition(std::string_view name, const Aim& aim, std::uint64_t seed,
                           const TimeLimit& limit) const {
        const NodeProblem nodes(problem_);
        const Goal& goal = aim.goal;
        Mapping best = start_mapping(name, nodes, problem_, options_, limit);
        const NodesFirst search(nodes, problem_, finest_, limit);
        // Scotch's mapping is chosen beside two levels only to be no worse than it.
        const double annealing =
            name == kStartScotch && options_.starts.empty() ? 0.0 : node_steps();
        const bool free_done = is_refined(name, problem_);
        if (!free_done) {
            best =
                better_of(best, search.improve(best, free_goal(), {annealing, true}, seed), goal);
        }
        if (free_done || goal.price > 0.0) {
            // After a search without a price, cuts gain hardly anything with a price.
            best = better_of(best, search.improve(best, goal, {0.0, free_done}, seed + 50), goal);
        }
        if (finest_.size() > kSmall) return best;
        return better_of(best, annealed(best, aim, 0.02, seed, limit), goal);
    }

    // Only balance and communication count.
    Goal free_goal() const {
        Goal free = goal_;
        free.price = free.byte_price = 0.0;
        free.communication_weight = 1.0;
        free.max_communication = free.max_migrations = free.max_migrated_bytes = INFINITY;
        return free;
    }

    Mapping better_of(const Mapping& a, const Mapping& b, const Goal& goal) const {
        const SearchState first(problem_, finest_, goal, a), second(problem_, finest_, goal, b);
        return better(second, first) ? b : a;
    }

    Mapping refined(Mapping mapping, const Goal& goal, std::uint64_t seed,
                    const TimeLimit& limit) const {
        SearchState state(problem_, finest_, goal, std::move(mapping));
        Random random(seed);
        finish(state, random, limit);
        return state.mapping();
    }

    static void finish(SearchState& state, Random& random, const TimeLimit& limit) {
        shorten_cores(state, limit);
        mend_memory(state, limit);
        improve(state, random, 10, limit);
    }

    double node_steps() const {
        if (finest_.size() > kAnnealed) return 0.0;
        // Minimum cuts are better for them (nodes_first.h).
        if (finest_.size() > kSmall && few_neighbours(finest_.graph)) return 0.0;
        return options_.effort * (finest_.size() > kSmall ? kNodeStepsOnLarge : kNodeSteps);
    }

    std::uint64_t steps(const Aim& aim, std::size_t items) const {
        const double most = std::min(1500.0 * double(items), 1.5e6);
        return std::uint64_t(options_.effort * aim.effort * most);
    }

    Mapping annealed(Mapping mapping, const Aim& aim, double temperature, std::uint64_t seed,
                     const TimeLimit& limit) const {
        SearchState state(problem_, finest_, aim.goal, std::move(mapping));
        Random random(seed);
        anneal(state, {temperature, steps(aim, finest_.size())}, random, limit);
        finish(state, random, limit);
        return state.mapping();
    }

    Mapping from_homes(const Aim& aim, std::uint64_t seed, const TimeLimit& limit) const {
        const Hierarchy hierarchy(problem_, finest_, true, seed);
        const Level& coarsest =
            hierarchy.coarser.empty() ? finest_ : hierarchy.coarser.back().level;
        return descend(hierarchy, aim, coarsest.home, 0.1, seed, limit);
    }

    // Refines at each level, from the coarsest.
    Mapping descend(const Hierarchy& hierarchy, const Aim& aim, Mapping mapping, double temperature,
                    std::uint64_t seed, const TimeLimit& limit) const {
        Random random(seed);
        for (std::size_t depth = hierarchy.coarser.size() + 1; depth-- > 0;) {
            const Level& level = depth == 0 ? finest_ : hierarchy.coarser[depth - 1].level;
            SearchState state(problem_, level, aim.goal, std::move(mapping));
            shorten_cores(state, limit);
            mend_memory(state, limit);
            improve(state, random, 3, limit);
            if (depth == hierarchy.coarser.size()) {
                SearchState hot = state;
                anneal(hot, {temperature, steps(aim, level.size())}, random, limit);
                finish(hot, random, limit);
                mapping = better(hot, state) ? hot.mapping() : state.mapping();
            } else {
                mapping = state.mapping();
            }
            if (depth > 0) mapping = of_items(mapping, hierarchy.coarser[depth - 1].group);
        }
        return mapping;
    }

    Mapping from_scratch(const Aim& aim, std::uint64_t seed, const TimeLimit& limit) const {
        const Hierarchy hierarchy(problem_, finest_, false, seed);
        const Level& coarsest =
            hierarchy.coarser.empty() ? finest_ : hierarchy.coarser.back().level;
        const Aim free{free_goal(), aim.effort};
        Mapping mapping = descend(hierarchy, free, bisected(coarsest), 0.1, seed, limit);
        mapping = relabel(problem_, mapping);
        return refined(std::move(mapping), aim.goal, seed, limit);
    }

    // Recursive bipartition of a level.
    Mapping bisected(const Level& level) const {
        return rec_bipart(GroupProblem(problem_, level).problem(), options_);
    }

    Mapping best_of(const std::vector<Try>& tries, const Mapping& home) const {
        std::vector<Mapping> results(tries.size());
        std::atomic<std::size_t> next{0};
        const std::size_t workers = std::min<std::size_t>(options_.threads, tries.size());
        const auto work = [&] {
            for (std::size_t i = next++; i < tries.size() && !limit_.over(); i = next++) {
                // Each of the remaining tries gets an equal part of the remaining time.
                const double rounds = std::max(1.0, double(tries.size() - i) / double(workers));
                results[i] = tries[i](TimeLimit(limit_.left() / rounds));
            }
        };
        std::vector<std::jthread> others;
        for (std::size_t i = 1; i < workers; ++i) others.emplace_back(work);
        work();
        others.clear();
        // If no mapping is better, nothing moves.
        std::optional<SearchState> best(std::in_place, problem_, finest_, goal_, home);
        for (const Mapping& result : results) {
            if (result.empty()) continue;  // the time was over before this try
            SearchState state(problem_, finest_, goal_, result);
            if (better(state, *best)) best.emplace(std::move(state));
        }
        return best->mapping();
    }

    const Problem& problem_;
    const Options& options_;
    const TimeLimit limit_;
    const Goal goal_;
    const Level finest_;
};

}  // namespace

Objective objective(const Problem& problem, const Mapping& mapping, const Options& options) {
    check_mapping(problem, mapping);
    const Level finest = finest_level(problem);
    const SearchState state(problem, finest, search_goal(problem, options), mapping);
    return {state.migration_excess(), state.memory_excess(), state.excess(), state.cost()};
}

Mapping keep_core_memory(const Problem& problem, const Mapping& mapping, const Options& options) {
    check_mapping(problem, mapping);
    if (!problem.limits_core_memory()) return mapping;
    check_core_memory(problem);
    const Level finest = finest_level(problem);
    SearchState state(problem, finest, search_goal(problem, options), mapping);
    mend_memory(state, TimeLimit(options.time_limit));
    return state.mapping();
}

Mapping incumbent_search(const Problem& problem, const Options& options) {
    check_starts(options.starts);
    if (problem.limits_core_memory()) check_core_memory(problem);
    if (problem.tasks() == 0 || problem.cores() == 1) return problem.current();
    return IncumbentSearch(problem, options).run();
}

}  // namespace numascape::balance
