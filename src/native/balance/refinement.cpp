// SPDX-License-Identifier: Apache-2.0
#include "refinement.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "core_loads.h"

namespace numascape::balance {

namespace {

struct Place {
    Core core;
    double change;  // of the cost
};

class Refinement {
  public:
    explicit Refinement(SearchState& state)
        : state_(state),
          level_(state.level()),
          problem_(state.problem()),
          costs_(problem_),
          by_node_(),
          place_(problem_.cores()) {
        by_node_.reserve(problem_.nodes());
        for (Node n = 0; n < problem_.nodes(); ++n) {
            const auto cores = problem_.cores_of(n);
            by_node_.emplace_back(cores.size());
            for (std::size_t i = 0; i < cores.size(); ++i) {
                place_[cores[i]] = std::uint32_t(i);
                by_node_[n].set(i, state.time(cores[i]));
            }
        }
    }

    // The cheapest core with room for the item, including its own. With `escape`, also a core that
    // then still takes less time than the item's own core, even without a gain.
    Place best(Task t, bool escape) {
        const Core here = state_.mapping()[t];
        const Node own = problem_.node(here);
        const auto& costs =
            costs_.of(level_.graph, t, [&](Task u) { return problem_.node(state_.mapping()[u]); });
        const double weight = state_.goal().communication_weight;
        const double stay = weight * costs[own];
        Place found{here, escape ? INFINITY : 0.0};
        // Of equally cheap places, the one with the lowest rank wins, so the order of the calls has
        // no effect. The present place has the lowest, then comes the home.
        std::int64_t lowest = -2;
        const auto consider = [&](Core c, std::int64_t rank) {
            const double change =
                weight * costs[problem_.node(c)] - stay + state_.price_change(t, c);
            const bool better = change < found.change || (change == found.change && rank < lowest);
            if (better && allowed(t, c, escape)) found = {c, change}, lowest = rank;
        };
        const auto consider_node = [&](Node n, std::int64_t rank) {
            if (problem_.cores_of(n).empty()) return;
            consider(problem_.cores_of(n)[by_node_[n].place()], rank);
        };
        if (here != level_.home[t]) consider(level_.home[t], -1);
        if (costs_.near_is_cheaper() && weight > 0.0) {
            std::int64_t rank = 0;
            consider_node(own, rank);
            for (Node n : costs_.near()) consider_node(n, ++rank);
            // No other node costs less than these or the present one.
            if (!escape || found.change < INFINITY) return found;
        }
        const double away = state_.at_home(t) ? state_.price(t) : 0.0;
        const auto look = [&](std::span<const Node> nodes) {
            for (Node n : nodes) consider_node(n, std::int64_t(n));
        };
        costs_.near_first(look,
                          [&](double cost) { return weight * cost - stay + away <= found.change; });
        return found;
    }

    void move(Task t, Core to) {
        const Core from = state_.mapping()[t];
        state_.move(t, to);
        for (Core c : {from, to}) by_node_[problem_.node(c)].set(place_[c], state_.time(c));
    }

    // All its neighbours are on its node, it is at home, and its core does not take too long.
    bool settled(Task t) const {
        const Core here = state_.mapping()[t];
        if (here != level_.home[t]) return false;
        const Node own = problem_.node(here);
        for (auto e = level_.graph.offsets[t]; e < level_.graph.offsets[t + 1]; ++e) {
            if (problem_.node(state_.mapping()[level_.graph.neighbour[e]]) != own) return false;
        }
        return true;
    }

  private:
    bool allowed(Task t, Core to, bool escape) const {
        const Core here = state_.mapping()[t];
        if (to == here) return false;
        const bool leaves = here == level_.home[t];
        const Goal& goal = state_.goal();
        if (leaves && (state_.migrations() + level_.count[t] > goal.max_migrations ||
                       state_.migrated_bytes() + level_.bytes[t] > goal.max_migrated_bytes)) {
            return false;
        }
        if (state_.fits(t, to)) {
            return goal.max_communication == INFINITY || escape || keeps_communication(t, to);
        }
        const double there = state_.time(to) + state_.item_time(t, to);
        return escape && there < state_.time(here) && state_.memory_fits(t, problem_.node(to)) &&
               state_.core_memory_fits(t, to);
    }
    bool keeps_communication(Task t, Core to) const {
        const double change = state_.communication_change(t, to);
        return change <= 0.0 || state_.communication() + change <= state_.goal().max_communication;
    }

    SearchState& state_;
    const Level& level_;
    const Problem& problem_;
    NodeCosts costs_;
    std::vector<SmallestKey> by_node_;
    std::vector<std::uint32_t> place_;
};

struct Candidate {
    double price;  // cost per second taken off the core
    Task item;
};

// The items of each core, lightest first; of equal ones by number.
class ItemsByLoad {
  public:
    explicit ItemsByLoad(const SearchState& state) : state_(state), on_(state.problem().cores()) {
        for (Task t = 0; t < state.level().size(); ++t) {
            if (!state.level().fixed[t]) on_[state.mapping()[t]].emplace_back(load(t), t);
        }
        for (auto& items : on_) std::sort(items.begin(), items.end());
    }
    // The items of at least this load, lightest first.
    std::span<const std::pair<double, Task>> from(Core c, double load) const {
        const auto& items = on_[c];
        const auto first = std::lower_bound(items.begin(), items.end(), std::pair{load, Task{0}});
        return {first, items.end()};
    }
    std::span<const std::pair<double, Task>> all(Core c) const { return on_[c]; }
    void move(Task t, Core from, Core to) {
        const std::pair item{load(t), t};
        on_[from].erase(std::lower_bound(on_[from].begin(), on_[from].end(), item));
        on_[to].insert(std::lower_bound(on_[to].begin(), on_[to].end(), item), item);
    }

  private:
    double load(Task t) const { return state_.level().load[t]; }
    const SearchState& state_;
    std::vector<std::vector<std::pair<double, Task>>> on_;
};

struct Exchange {
    Task away, back;
    double overtime = 0.0, cost = INFINITY;
};

// The effect of an exchange, which is made and reverted.
void consider(SearchState& state, Task away, Task back, Exchange& best) {
    const Core here = state.mapping()[away], there = state.mapping()[back];
    if (!state.memory_fits(away, state.problem().node(there)) ||
        !state.memory_fits(back, state.problem().node(here))) {
        return;
    }
    const double memory = state.memory_excess();
    state.move(away, there);
    state.move(back, here);
    const bool allowed = state.memory_excess() <= memory &&
                         state.migrations() <= state.goal().max_migrations &&
                         state.migrated_bytes() <= state.goal().max_migrated_bytes;
    const double overtime = state.overtime(), cost = state.cost();
    state.move(back, there);
    state.move(away, here);
    if (!allowed || overtime > best.overtime) return;
    if (overtime < best.overtime || cost < best.cost) best = {away, back, overtime, cost};
}

// Exchanges an item of a core that takes too long for a slightly lighter item of another core. This
// helps if no single item fits on any core. Stops after kMaxPairs pairs of an item
// and another core, because each pair takes time.
void exchange_items(SearchState& state, const TimeLimit& limit) {
    const Problem& problem = state.problem();
    constexpr std::size_t kMaxPairs = 20'000'000;
    std::size_t looked_at = 0;
    ItemsByLoad items(state);
    for (Core c = 0; c < problem.cores(); ++c) {
        while (state.too_long(c) && !limit.over()) {
            Exchange best{0, 0, state.overtime() * (1.0 - 1e-9)};
            const double surplus = (state.time(c) - state.goal().longest) * problem.speed(c);
            for (const auto& [load, away] : items.all(c)) {
                for (Core other = 0; other < problem.cores(); ++other) {
                    if (other == c || state.time(other) >= state.goal().longest) continue;
                    const double room =
                        (state.goal().longest - state.time(other)) * problem.speed(other);
                    // The lightest item that keeps the other core within the limit, and the next
                    // ones that still remove the excess of this core.
                    int tries = 3;
                    for (const auto& [lighter, back] : items.from(other, load - room)) {
                        if (lighter >= load || tries-- == 0) break;
                        consider(state, away, back, best);
                        if (load - lighter < surplus) break;
                    }
                    if (++looked_at > kMaxPairs) return;
                }
            }
            if (best.cost == INFINITY) break;
            const Core there = state.mapping()[best.back];
            state.move(best.away, there);
            state.move(best.back, c);
            items.move(best.away, c, there);
            items.move(best.back, there, c);
        }
    }
}

void move_items_away(SearchState& state, const TimeLimit& limit) {
    const Level& level = state.level();
    constexpr int kRounds = 8;
    for (int round = 0; round < kRounds && state.overtime() > 0.0 && !limit.over(); ++round) {
        Refinement refinement(state);
        std::vector<Candidate> candidates;
        for (Task t = 0; t < level.size(); ++t) {
            const Core here = state.mapping()[t];
            if (level.fixed[t] || !state.too_long(here) || level.load[t] <= 0.0) continue;
            const Place place = refinement.best(t, true);
            if (place.core == here) continue;
            // Removing more than the excess of the core has no benefit.
            const double useful =
                std::min(state.item_time(t, here), state.time(here) - state.goal().longest);
            candidates.push_back({place.change / useful, t});
        }
        std::sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
            return a.price < b.price || (a.price == b.price && a.item < b.item);
        });
        bool moved = false;
        for (const Candidate& candidate : candidates) {
            const Core here = state.mapping()[candidate.item];
            if (!state.too_long(here)) continue;
            const Place place = refinement.best(candidate.item, true);
            if (place.core == here) continue;
            refinement.move(candidate.item, place.core);
            moved = true;
        }
        if (!moved) return;
    }
}

}  // namespace

void shorten_cores(SearchState& state, const TimeLimit& limit) {
    move_items_away(state, limit);
    if (state.overtime() > 0.0) exchange_items(state, limit);
}

void improve(SearchState& state, Random& random, int passes, const TimeLimit& limit) {
    const Level& level = state.level();
    Refinement refinement(state);
    constexpr std::size_t kBlock = 256;
    for (int pass = 0; pass < passes; ++pass) {
        std::size_t moves = 0;
        visit_shuffled_blocks(level.size(), kBlock, random, [&](std::size_t t, std::size_t end) {
            if (limit.over()) return;
            for (; t < end; ++t) {
                if (level.fixed[t] || refinement.settled(Task(t))) continue;
                const Place place = refinement.best(Task(t), false);
                // A gain below the rounding error does not count.
                if (place.change >= -1e-12 * (1.0 + std::abs(state.cost()))) continue;
                refinement.move(Task(t), place.core);
                ++moves;
            }
        });
        if (limit.over()) return;
        if (moves * 1000 <= level.size()) return;
    }
}

}  // namespace numascape::balance
