// SPDX-License-Identifier: Apache-2.0
#include "pair_cuts.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "minimum_cut.h"

namespace numascape::balance {

namespace {

// At most kItems items of each side are divided anew. Their load is at most the share kShareOfCore
// of the load of their core. It is also at most the room on the other core. If that core has little
// room, this limit is the share kShareOfMean of the load that it should have.
constexpr std::size_t kItems = 200;
constexpr double kShareOfMean = 0.4, kShareOfCore = 0.5;
constexpr std::uint32_t kOutside = ~std::uint32_t{0};

struct BorderItem {
    Core low, high;  // the two cores
    Task item;
    bool operator<(const BorderItem& other) const {
        return std::tie(low, high, item) < std::tie(other.low, other.high, other.item);
    }
    bool operator==(const BorderItem&) const = default;
};

class PairCuts {
  public:
    explicit PairCuts(SearchState& state)
        : state_(state),
          level_(state.level()),
          problem_(state.problem()),
          number_(level_.size(), kOutside) {}

    // Whether the mapping changed.
    bool round(std::vector<std::uint8_t>& active, Random& random, const TimeLimit& limit) {
        const std::vector<BorderItem> items = border();
        std::vector<std::pair<std::size_t, std::size_t>> pairs;
        for (std::size_t i = 0, end = 0; i < items.size(); i = end) {
            while (end < items.size() && items[end].low == items[i].low &&
                   items[end].high == items[i].high) {
                ++end;
            }
            if (active[items[i].low] || active[items[i].high]) pairs.emplace_back(i, end);
        }
        shuffle(pairs, random);
        std::vector<std::uint8_t> changed(problem_.cores(), 0);
        bool any = false;
        for (const auto& [begin, end] : pairs) {
            if (limit.over()) break;
            a_ = items[begin].low, b_ = items[begin].high;
            if (!divide({items.data() + begin, end - begin})) continue;
            changed[a_] = changed[b_] = 1;
            any = true;
        }
        active = std::move(changed);
        return any;
    }

  private:
    std::vector<BorderItem> border() const {
        std::vector<BorderItem> items;
        for (Task t = 0; t < level_.size(); ++t) {
            const Core here = state_.mapping()[t];
            for (auto e = level_.graph.offsets[t]; e < level_.graph.offsets[t + 1]; ++e) {
                const Core there = state_.mapping()[level_.graph.neighbour[e]];
                if (there == here) continue;
                const BorderItem item{std::min(here, there), std::max(here, there), t};
                if (items.empty() || !(items.back() == item)) items.push_back(item);
            }
        }
        std::sort(items.begin(), items.end());
        items.erase(std::unique(items.begin(), items.end()), items.end());
        return items;
    }

    // Adds items of core `side`, from the border inwards, as long as their load is at most `most`.
    void widen(std::span<const BorderItem> seeds, Core side, double most) {
        std::size_t next = corridor_.size();
        double load = 0.0;
        const std::size_t last = next + kItems;
        const auto take = [&](Task t, std::int32_t depth) {
            if (number_[t] != kOutside || level_.fixed[t] || state_.mapping()[t] != side ||
                load + level_.load[t] > most || corridor_.size() >= last) {
                return;
            }
            load += level_.load[t];
            number_[t] = std::uint32_t(corridor_.size());
            corridor_.push_back(t);
            depth_.push_back(depth);
        };
        for (const BorderItem& seed : seeds) take(seed.item, 1);
        for (; next < corridor_.size(); ++next) {
            const Task t = corridor_[next];
            const std::int32_t depth = depth_[next] + 1;
            for (auto e = level_.graph.offsets[t]; e < level_.graph.offsets[t + 1]; ++e) {
                take(level_.graph.neighbour[e], depth);
            }
        }
    }

    double room(Core c) const {
        return (state_.goal().longest - state_.time(c)) * problem_.speed(c);
    }
    double most(Core from, Core to) const {
        const double has = (state_.time(from) - problem_.background(from)) * problem_.speed(from);
        return std::min(
            kShareOfCore * has,
            std::max(room(to), kShareOfMean * problem_.perfect_time() * problem_.speed(to)));
    }

    bool divide(std::span<const BorderItem> seeds) {
        corridor_.clear(), depth_.clear();
        widen(seeds, a_, most(a_, b_));
        const std::size_t of_a = corridor_.size();
        widen(seeds, b_, most(b_, a_));
        const bool found = of_a > 0 && corridor_.size() > of_a && cut(of_a);
        for (Task t : corridor_) number_[t] = kOutside;
        return found && move();
    }

    bool cut(std::size_t of_a) {
        MinimumCut& network = network_;
        network.clear(corridor_.size());
        const Node a = problem_.node(a_), b = problem_.node(b_);
        const double weight = state_.goal().communication_weight;
        const bool directed = !level_.graph.received.empty();
        for (std::uint32_t i = 0; i < corridor_.size(); ++i) {
            const Task t = corridor_[i];
            const Core home = level_.home[t];
            double to_b = 0.0;  // what it costs more on b
            if (home == a_) to_b += state_.price(t);
            if (home == b_) to_b -= state_.price(t);
            for (auto e = level_.graph.offsets[t]; e < level_.graph.offsets[t + 1]; ++e) {
                const Task u = level_.graph.neighbour[e];
                const double sent = weight * level_.graph.sent[e];
                const double received = directed ? weight * level_.graph.received[e] : 0.0;
                const auto cost = [&](Node mine, Node other) {
                    return sent * problem_.factor(mine, other) +
                           received * problem_.factor(other, mine);
                };
                if (number_[u] == kOutside) {
                    const Node n = problem_.node(state_.mapping()[u]);
                    to_b += cost(b, n) - cost(a, n);
                    continue;
                }
                // The cost of the messages between the two items, as an amount for each item and an
                // amount for the case that they are apart.
                const double together_a = cost(a, a), together_b = cost(b, b);
                const double apart = cost(a, b), reverse = cost(b, a);
                to_b += (together_b - together_a + reverse - apart) / 2.0;
                const double between = (apart + reverse - together_a - together_b) / 2.0;
                if (i < number_[u]) network.connect(i, number_[u], std::max(0.0, between));
            }
            network.item(i, level_.load[t], to_b, i < of_a, i < of_a ? depth_[i] : -depth_[i]);
        }
        return network.divide(-room(b_), room(a_));
    }

    bool move() {
        const double migration = state_.migration_excess(), memory = state_.memory_excess(),
                     excess = state_.excess(), cost = state_.cost();
        moved_.clear();
        for (std::uint32_t i = 0; i < corridor_.size(); ++i) {
            const Core to = network_.first(i) ? a_ : b_;
            if (state_.mapping()[corridor_[i]] == to) continue;
            moved_.push_back(corridor_[i]);
            state_.move(corridor_[i], to);
        }
        const double least = 1e-12 * (1.0 + std::abs(cost));
        if (state_.migration_excess() <= migration && state_.memory_excess() <= memory &&
            state_.excess() <= excess && state_.cost() < cost - least) {
            return true;
        }
        for (Task t : moved_) state_.move(t, state_.mapping()[t] == a_ ? b_ : a_);
        return false;
    }

    SearchState& state_;
    const Level& level_;
    const Problem& problem_;
    Core a_ = 0, b_ = 0;
    std::vector<std::uint32_t> number_;  // in the corridor
    std::vector<Task> corridor_, moved_;
    std::vector<std::int32_t> depth_;
    MinimumCut network_;
};

}  // namespace

void cut_pairs(SearchState& state, Random& random, int rounds, const TimeLimit& limit) {
    PairCuts cuts(state);
    std::vector<std::uint8_t> active(state.problem().cores(), 1);
    for (int round = 0; round < rounds && !limit.over(); ++round) {
        if (!cuts.round(active, random, limit)) return;
    }
}

}  // namespace numascape::balance
