// SPDX-License-Identifier: Apache-2.0
#include "hill_climbing.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "communication.h"

namespace numascape::balance {

namespace {

// Moves without a gain before the search from an item is given up. Where items have few neighbours,
// such moves take little time: meshes and AMR graphs of 97 000 tasks then had 0.8 % less
// communication. Power law and random graphs of 10 000 tasks had 0.3 % more.
constexpr std::size_t kPatience = 25, kPatienceOfFew = 100;
// A round that lowers the cost by less than this share is the last one.
constexpr double kMinGain = 2e-4;
// Seeds that are visited one after the other.
constexpr std::size_t kBlock = 64;

class HillClimbing {
  public:
    HillClimbing(SearchState& state, Random& random)
        : state_(state),
          level_(state.level()),
          problem_(state.problem()),
          random_(random),
          costs_(problem_),
          patience_(few_neighbours(level_.graph) ? kPatienceOfFew : kPatience),
          done_(level_.size(), 0),
          stamp_(level_.size(), 0) {}

    // Returns how much the cost fell.
    double round(const TimeLimit& limit) {
        const double before = state_.cost();
        std::vector<Task> seeds;
        for (Task t = 0; t < level_.size(); ++t) {
            done_[t] = level_.fixed[t];
            if (!done_[t] && on_border(t)) seeds.push_back(t);
        }
        visit_shuffled_blocks(seeds.size(), kBlock, random_, [&](std::size_t i, std::size_t end) {
            for (; i < end && !limit.over(); ++i) {
                if (!done_[seeds[i]]) follow(seeds[i]);
            }
        });
        return before - state_.cost();
    }

  private:
    struct Move {
        double change;
        Task item;
        Core to;
        std::uint32_t stamp;
        // The top of the queue is the cheapest move; among equally cheap ones, that of the item
        // with the lowest number.
        bool operator<(const Move& other) const {
            return change != other.change ? change > other.change : item > other.item;
        }
    };
    struct Step {
        Task item;
        Core from;
    };

    bool on_border(Task t) const {
        const Core here = state_.mapping()[t];
        for (auto e = level_.graph.offsets[t]; e < level_.graph.offsets[t + 1]; ++e) {
            if (state_.mapping()[level_.graph.neighbour[e]] != here) return true;
        }
        return here != level_.home[t];
    }

    bool allowed(Task t, Core to) const {
        if (!state_.fits(t, to)) return false;
        const Goal& goal = state_.goal();
        if (goal.max_communication < INFINITY) {
            const double change = state_.communication_change(t, to);
            if (change > 0.0 && state_.communication() + change > goal.max_communication) {
                return false;
            }
        }
        return state_.mapping()[t] != level_.home[t] ||
               (state_.migrations() + level_.count[t] <= goal.max_migrations &&
                state_.migrated_bytes() + level_.bytes[t] <= goal.max_migrated_bytes);
    }

    Move best(Task t) {
        const auto& costs =
            costs_.of(level_.graph, t, [&](Task u) { return problem_.node(state_.mapping()[u]); });
        const Core here = state_.mapping()[t];
        const double weight = state_.goal().communication_weight;
        const double stay = weight * costs[problem_.node(here)];
        Move found{INFINITY, t, here, 0};
        const auto consider = [&](Core c) {
            if (c == here) return;
            const double change =
                weight * costs[problem_.node(c)] - stay + state_.price_change(t, c);
            // Among equally good cores, the lowest number wins, so the order of the calls has no
            // effect.
            const bool better = change < found.change || (change == found.change && c < found.to);
            if (better && allowed(t, c)) found.change = change, found.to = c;
        };
        if (costs_.near_is_cheaper() && weight > 0.0) {
            consider(level_.home[t]);
            for (Node n : costs_.near()) {
                for (Core c : problem_.cores_of(n)) consider(c);
            }
            // All other cores cost the same, so the first one with room will do.
            for (Core c = 0; c < problem_.cores() && found.change == INFINITY; ++c) consider(c);
            return found;
        }
        consider(level_.home[t]);
        // What a move to another core than the home costs.
        const double away = state_.at_home(t) ? state_.price(t) : 0.0;
        const auto look = [&](std::span<const Node> nodes) {
            for (Node n : nodes) {
                for (Core c : problem_.cores_of(n)) consider(c);
            }
        };
        costs_.near_first(look,
                          [&](double cost) { return weight * cost - stay + away <= found.change; });
        return found;
    }

    void look_at(Task t) {
        Move move = best(t);
        move.stamp = ++stamp_[t];
        if (move.change < INFINITY) queue_.push(move);
    }

    // Looks at the neighbours that may move. Their lists are prefetched: on large graphs, most of
    // the time is spent waiting for these lists.
    void look_around(Task t) {
        const CommunicationGraph& graph = level_.graph;
        const auto end = graph.offsets[t + 1];
        for (auto e = graph.offsets[t]; e < end; ++e) {
            if (e + 8 < end) __builtin_prefetch(&graph.offsets[graph.neighbour[e + 8]]);
            if (e + 4 < end) {
                const auto row = graph.offsets[graph.neighbour[e + 4]];
                __builtin_prefetch(&graph.neighbour[row]);
                __builtin_prefetch(&graph.sent[row]);
            }
            const Task u = graph.neighbour[e];
            if (!done_[u]) look_at(u);
        }
    }

    void follow(Task seed) {
        queue_ = {};
        steps_.clear();
        look_at(seed);
        double best = 0.0, sum = 0.0;
        std::size_t kept = 0;
        const double least = 1e-12 * (1.0 + std::abs(state_.cost()));
        while (!queue_.empty() && steps_.size() < kept + patience_) {
            const Move move = queue_.top();
            queue_.pop();
            if (done_[move.item] || move.stamp != stamp_[move.item]) continue;
            // The room on the node may have changed since the move was found.
            if (!allowed(move.item, move.to)) {
                look_at(move.item);
                continue;
            }
            steps_.push_back({move.item, state_.mapping()[move.item]});
            state_.move(move.item, move.to);
            done_[move.item] = 1;
            sum += move.change;
            if (sum < best - least) best = sum, kept = steps_.size();
            look_around(move.item);
        }
        for (std::size_t i = steps_.size(); i-- > kept;) {
            state_.move(steps_[i].item, steps_[i].from);
        }
    }

    SearchState& state_;
    const Level& level_;
    const Problem& problem_;
    Random& random_;
    NodeCosts costs_;
    const std::size_t patience_;
    std::vector<std::uint8_t> done_;  // moved in this round, or fixed
    std::vector<std::uint32_t> stamp_;
    std::priority_queue<Move> queue_;
    std::vector<Step> steps_;
};

}  // namespace

void climb(SearchState& state, Random& random, int rounds, const TimeLimit& limit) {
    HillClimbing climbing(state, random);
    for (int round = 0; round < rounds && !limit.over(); ++round) {
        if (climbing.round(limit) <= kMinGain * std::abs(state.cost())) return;
    }
}

}  // namespace numascape::balance
