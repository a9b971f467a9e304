// SPDX-License-Identifier: Apache-2.0
#include "grouped_partition.h"

#include <algorithm>
#include <cmath>
#include <list>
#include <numeric>
#include <utility>
#include <vector>

#include "hill_climbing.h"
#include "level.h"
#include "node_problem.h"
#include "pair_cuts.h"
#include "refinement.h"
#include "search_state.h"

namespace numascape::balance {

namespace {

// METIS divides kFewGroups groups per part. These consist of kManyGroups smaller groups per part,
// which are the same for all ways of grouping.
constexpr std::size_t kFewGroups = 100, kManyGroups = 200;
// The heaviest group, compared with the mean.
constexpr double kHeaviest = 3.0;
// Fewest tasks per part; with fewer, groups take no less time than tasks.
constexpr std::size_t kTasksPerPart = 4 * kManyGroups;
// On meshes and AMR graphs of 10 000 tasks, 8 ways lead to 4 % less communication than one; 32 lead
// to hardly less than 16. The time of a way is proportional to its number of groups, and so to the
// number of parts. With more parts, there are therefore fewer ways.
constexpr double kWays = 224.0, kMostWays = 12.0, kFewestWays = 2.0;
constexpr int kPartitionsOfEach = 2;
// The way that is best for groups is often not the best for tasks. On graphs of up to this size, it
// takes hardly longer to refine two ways for tasks than one.
constexpr std::size_t kSmallGraph = 20'000, kFinalistsOnSmall = 2;
// A level that is hardly larger than the one before is not refined.
constexpr double kLevelGrowth = 1.5;

// Levels from the finest, and the group of each item on the next one.
struct Grouping {
    std::vector<Level> levels;
    std::vector<std::vector<Task>> groups;

    void extend(std::size_t wanted, std::uint64_t seed) {
        const std::vector<double>& loads = levels.back().load;
        const double all = std::accumulate(loads.begin(), loads.end(), 0.0);
        while (levels.back().size() > wanted) {
            auto next = coarsen(levels.back(), kHeaviest * all / double(wanted), false,
                                seed + levels.size());
            if (!next) break;
            levels.push_back(std::move(next->level));
            groups.push_back(std::move(next->group));
        }
    }
};

class GroupedPartition {
  public:
    GroupedPartition(const Problem& problem, const Options& options, const TimeLimit& limit)
        : problem_(problem),
          options_(options),
          limit_(limit),
          goal_(search_goal(problem, options)),
          random_(options.seed) {
        goal_ = goal_on_nodes(problem, goal_);
        goal_.price = goal_.byte_price = 0.0;
        goal_.communication_weight = 1.0;
        goal_.max_communication = goal_.max_migrations = goal_.max_migrated_bytes = INFINITY;
        shared_.levels.push_back(finest_level(problem));
        shared_.extend(problem.cores() * kManyGroups, options.seed);
    }

    Mapping run() {
        std::list<SearchState> found;
        const double usual = kWays / double(problem_.cores());
        const double ways = options_.effort * std::clamp(usual, kFewestWays, kMostWays);
        const std::size_t finalists = problem_.tasks() > kSmallGraph ? 1 : kFinalistsOnSmall;
        for (int way = 0; way < std::max(1.0, ways) && (way == 0 || !limit_.over()); ++way) {
            Grouping own;
            own.levels.push_back(shared_.levels.back());
            own.extend(problem_.cores() * kFewGroups, options_.seed + std::uint64_t(way) * 100);
            found.emplace_back(problem_, shared_.levels.back(), goal_,
                               refined(own, divided(own.levels.back(), way), 0, 1));
            found.sort(better);
            if (found.size() > finalists) found.pop_back();
        }
        std::list<SearchState> finished;
        for (const SearchState& state : found) {
            if (!finished.empty() && limit_.over()) break;
            finished.emplace_back(problem_, shared_.levels.front(), goal_,
                                  refined(shared_, state.mapping(), 1, 2));
        }
        return std::min_element(finished.begin(), finished.end(), better)->mapping();
    }

  private:
    // The best of METIS' partitions of a level.
    Mapping divided(const Level& level, int way) {
        std::list<SearchState> found;
        for (int i = 0; i < kPartitionsOfEach; ++i) {
            SearchState& state = found.emplace_back(problem_, level, goal_,
                                                    partition(level, way * kPartitionsOfEach + i));
            shorten_cores(state, limit_);
            refine(state, 3, 2);
        }
        return std::min_element(found.begin(), found.end(), better)->mapping();
    }

    // A mapping of the last level, refined on each level before it.
    Mapping refined(const Grouping& grouping, Mapping mapping, int climbs, int cuts) {
        std::size_t before = mapping.size();
        for (std::size_t depth = grouping.groups.size(); depth-- > 0;) {
            mapping = of_items(mapping, grouping.groups[depth]);
            if (depth > 0 && double(mapping.size()) < kLevelGrowth * double(before)) continue;
            before = mapping.size();
            SearchState state(problem_, grouping.levels[depth], goal_, std::move(mapping));
            if (depth == 0) shorten_cores(state, limit_);
            refine(state, climbs, cuts);
            mapping = state.mapping();
        }
        return mapping;
    }

    void refine(SearchState& state, int climbs, int cuts) {
        mend_memory(state, limit_);
        climb(state, random_, climbs, limit_);
        cut_pairs(state, random_, cuts, limit_);
    }

    Mapping partition(const Level& level, int number) const {
        const GroupProblem groups(problem_, level);
        Options options = options_;
        options.metis_passes = 10;
        options.metis_cuts = 1;
        options.seed = options_.seed * 1000 + std::uint64_t(number);
        return metis(groups.problem(), options);
    }

    const Problem& problem_;
    const Options& options_;
    const TimeLimit& limit_;
    Goal goal_;
    Random random_;
    Grouping shared_;
};

}  // namespace

bool can_partition_groups(std::size_t tasks, std::size_t parts) {
    return parts > 1 && tasks >= parts * kTasksPerPart;
}

Mapping partition_groups(const Problem& problem, const Options& options, const TimeLimit& limit) {
    return GroupedPartition(problem, options, limit).run();
}

}  // namespace numascape::balance
