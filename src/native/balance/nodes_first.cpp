// SPDX-License-Identifier: Apache-2.0
#include "nodes_first.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "hill_climbing.h"
#include "node_annealing.h"
#include "pair_cuts.h"
#include "refinement.h"

namespace numascape::balance {

namespace {

// Fewest groups per node on the coarsest level.
constexpr std::size_t kGroupsPerNode = 40;
// The heaviest group takes this share of a core's time. Groups that weigh more, by the number of
// cores of a node, took longer, and led to no less communication.
constexpr double kHeaviestGroup = 1.0 / 40.0;
constexpr int kRounds = 3;
// A level between the coarsest and the finest is left out if it has less than kGrowth times the
// tasks of the one before. Such levels exist where few tasks have many neighbours: coarsening then
// pairs few tasks at a time.
constexpr double kGrowth = 1.8;

// The graph is the same for cores and nodes, because it depends on the factors only.
Level level_on_nodes(const Level& finest, const NodeProblem& nodes) {
    Level level = finest;
    level.home = nodes.of_cores(finest.home);
    return level;
}

class NodeSearch {
  public:
    NodeSearch(const Problem& problem, const Goal& goal, std::uint64_t seed, const TimeLimit& limit)
        : problem_(problem), goal_(goal), random_(seed), seed_(seed), limit_(limit) {}

    // The mappings before and after annealing; only one if annealing did not
    // lower the cost.
    std::vector<Mapping> run(Level finest, Mapping mapping, const NodesFirst::Means& means) {
        std::vector<Mapping> found;
        std::vector<Level> levels;
        std::vector<std::vector<Task>> groups;
        const double heaviest = kHeaviestGroup * problem_.perfect_time();
        const bool cuts = means.cuts && few_neighbours(finest.graph);
        levels.push_back(std::move(finest));
        while (levels.back().size() > problem_.cores() * kGroupsPerNode) {
            auto next = coarser(levels.back(), mapping, heaviest);
            if (!next) break;
            Mapping coarse(next->level.size());
            for (Task t = 0; t < mapping.size(); ++t) coarse[next->group[t]] = mapping[t];
            mapping = std::move(coarse);
            levels.push_back(std::move(next->level));
            groups.push_back(std::move(next->group));
        }
        double climbed = 0.0;
        for (std::size_t depth = levels.size(); depth-- > 0;) {
            SearchState state(problem_, levels[depth], goal_, std::move(mapping));
            if (depth + 1 == levels.size() || depth == 0) shorten_cores(state, limit_);
            mend_memory(state, limit_);
            const double size = double(levels[depth].size());
            if (depth == 0 || size >= kGrowth * climbed) {
                climb(state, random_, kRounds, limit_);
                if (cuts) cut_pairs(state, random_, 1, limit_);
                climbed = size;
            }
            mapping = state.mapping();
            if (depth == 0) {
                if (means.annealing_steps > 0.0 && anneal(state, means.annealing_steps)) {
                    found.push_back(state.mapping());
                }
                found.push_back(std::move(mapping));
                break;
            }
            mapping = of_items(mapping, groups[depth - 1]);
        }
        return found;
    }

  private:
    // Returns whether annealing lowered the cost.
    bool anneal(SearchState& state, double steps) {
        const double before = state.cost();
        anneal_communication(state, steps, random_, limit_);
        climb(state, random_, kRounds, limit_);
        return state.cost() < before;
    }

    // Pairs items of one node, and of one present node if that matters. While they are paired, the
    // home of an item is one number that stands for both nodes.
    std::optional<Coarsening> coarser(Level& level, const Mapping& mapping, double heaviest) {
        const bool homes_matter = goal_.price > 0.0 || goal_.byte_price > 0.0 ||
                                  goal_.max_migrations < INFINITY ||
                                  goal_.max_migrated_bytes < INFINITY;
        const Core cores = Core(problem_.cores());
        std::vector<Core> homes = level.home;
        for (Task t = 0; t < level.size(); ++t) {
            level.home[t] = homes_matter ? mapping[t] * cores + homes[t] : mapping[t];
        }
        auto result = coarsen(level, heaviest, true, ++seed_);
        level.home = std::move(homes);
        if (!result) return result;
        for (Task t = 0; t < level.size(); ++t) {
            result->level.home[result->group[t]] = level.home[t];
        }
        return result;
    }

    const Problem& problem_;
    const Goal& goal_;
    Random random_;
    std::uint64_t seed_;
    const TimeLimit& limit_;
};

}  // namespace

Mapping NodesFirst::improve(const Mapping& start, const Goal& goal, const Means& means,
                            std::uint64_t seed) const {
    const bool few = few_neighbours(finest_.graph);
    const Goal on_nodes_goal = few ? goal_on_nodes(nodes_.problem(), goal) : goal;
    NodeSearch search(nodes_.problem(), on_nodes_goal, seed, limit_);
    const std::vector<Mapping> found =
        search.run(level_on_nodes(finest_, nodes_), nodes_.of_cores(start), means);
    std::optional<SearchState> best;
    for (const Mapping& on_nodes : found) {
        SearchState state(problem_, finest_, goal, nodes_.on_cores(on_nodes, start, goal.longest));
        Random random(seed);
        shorten_cores(state, limit_);
        mend_memory(state, limit_);
        balance::improve(state, random, 3, limit_);
        if (!best || better(state, *best)) best.emplace(std::move(state));
    }
    return best->mapping();
}

}  // namespace numascape::balance
