// SPDX-License-Identifier: Apache-2.0
#include "node_annealing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace numascape::balance {

namespace {

// The first temperature is relative to typical_cost(), and the last one to the first. With twice or
// half these values, AMR and power law graphs of 1000 tasks had up to 2 % more communication.
constexpr double kFirstTemperature = 0.125, kLastTemperature = 0.15;
constexpr int kCoolingSteps = 50;
// Where few items are on a border, each of them gets more steps.
constexpr double kStepsOnBorder = 2.5;
constexpr double kShareOfTimeLimit = 0.8;
constexpr std::size_t kMaxEntries = 1 << 20;
constexpr std::size_t kDrawn = 256;

class NodeAnnealing {
  public:
    NodeAnnealing(SearchState& state, Random& random)
        : state_(state),
          graph_(state.level().graph),
          nodes_(state.problem().cores()),
          random_(random),
          cost_(state.level().size() * nodes_, 0.0) {
        for (std::size_t i = 0; i < kDrawn; ++i) {
            accepted_[i] = -std::log((double(i) + 0.5) / double(kDrawn));
        }
        const Problem& problem = state.problem();
        factor_.reserve(nodes_ * nodes_);
        for (Core a = 0; a < nodes_; ++a) {
            for (Core b = 0; b < nodes_; ++b) {
                factor_.push_back(problem.factor(problem.node(a), problem.node(b)));
            }
        }
        for (Task t = 0; t < state.level().size(); ++t) {
            for (auto e = graph_.offsets[t]; e < graph_.offsets[t + 1]; ++e) {
                add(t, state.mapping()[graph_.neighbour[e]], graph_.sent[e]);
            }
        }
    }

    // If time is limited, each temperature gets an equal part of what is left.
    void run(double steps, const TimeLimit& limit) {
        const double start = kFirstTemperature * typical_cost();
        const double all = steps * double(state_.level().size()) / kCoolingSteps;
        const double begin = limit.used(), own = kShareOfTimeLimit * (1.0 - begin);
        for (int stage = 0; stage < kCoolingSteps; ++stage) {
            find_border();
            if (border_.empty()) return;
            const auto late = [&] {
                return (limit.used() - begin) * kCoolingSteps > own * (stage + 1);
            };
            const double on_border =
                kStepsOnBorder * steps * double(border_.size()) / kCoolingSteps;
            temperature_ = start * std::pow(kLastTemperature, stage / double(kCoolingSteps - 1));
            for (auto left = std::uint64_t(std::min(all, on_border)); left > 0; --left) {
                propose();
                if (left % 256 == 0 && limit.limited() && late()) break;
            }
        }
    }

  private:
    // Items with a neighbour on another node, as far as they may move.
    void find_border() {
        border_.clear();
        const Mapping& mapping = state_.mapping();
        for (Task t = 0; t < state_.level().size(); ++t) {
            if (state_.level().fixed[t]) continue;
            const auto begin = graph_.neighbour.begin();
            const bool away = std::any_of(begin + std::ptrdiff_t(graph_.offsets[t]),
                                          begin + std::ptrdiff_t(graph_.offsets[t + 1]),
                                          [&](Task u) { return mapping[u] != mapping[t]; });
            if (away) border_.push_back(t);
        }
    }

    // Adds a message of the item from or to `node`. `cost` is that of the message within a node.
    void add(Task t, Core node, double cost) {
        double* const row = &cost_[t * nodes_];
        const double* const factors = &factor_[node * nodes_];
        for (std::size_t n = 0; n < nodes_; ++n) row[n] += cost * factors[n];
    }

    // The additional cost of all messages of a mean item if they cross the most expensive border.
    double typical_cost() const {
        double sum = 0.0;
        for (double sent : graph_.sent) sum += sent;
        const auto [least, most] = std::minmax_element(factor_.begin(), factor_.end());
        return (*most - *least) * sum / double(state_.level().size());
    }

    void propose() {
        // One half of the bits chooses an item, the other half a neighbour.
        const std::uint64_t drawn = random_.next();
        const Task t = border_[(drawn >> 32) * border_.size() >> 32];
        const auto first = graph_.offsets[t], end = graph_.offsets[t + 1];
        const Task near = graph_.neighbour[first + ((drawn & 0xffffffff) * (end - first) >> 32)];
        const Core from = state_.mapping()[t], to = state_.mapping()[near];
        if (from == to) return;
        const double change = cost_[t * nodes_ + to] - cost_[t * nodes_ + from];
        if (change > 0.0 && change >= temperature_ * accepted_[random_.next() % kDrawn]) return;
        if (!state_.fits(t, to)) return;
        state_.move(t, to, change);
        for (auto e = first; e < end; ++e) {
            add(graph_.neighbour[e], from, -graph_.sent[e]);
            add(graph_.neighbour[e], to, graph_.sent[e]);
        }
    }

    SearchState& state_;
    const CommunicationGraph& graph_;
    const std::size_t nodes_;
    Random& random_;
    std::vector<double> factor_;  // row-major, of nodes
    std::vector<double> cost_;    // of each item on each node
    std::vector<Task> border_;
    double temperature_ = 0.0;
    // A change that costs c is accepted with probability exp(-c / temperature), which is the same
    // as accepting costs below a number with an exponential distribution. Drawing it from this
    // table takes less time than computing exp for each proposal.
    std::array<double, kDrawn> accepted_{};
};

}  // namespace

void anneal_communication(SearchState& state, double steps, Random& random,
                          const TimeLimit& limit) {
    if (!state.level().graph.received.empty()) return;
    if (state.level().size() * state.problem().cores() > kMaxEntries) return;
    NodeAnnealing(state, random).run(steps, limit);
}

}  // namespace numascape::balance
