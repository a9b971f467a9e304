// SPDX-License-Identifier: Apache-2.0
#include "node_messages.h"

#include <algorithm>
#include <numeric>

namespace numascape::balance {

double balance_alpha(const Problem& problem, const Options& options) {
    if (!std::isnan(options.alpha)) return options.alpha;
    double load = 0.0, messages = 0.0;
    for (Task t = 0; t < problem.tasks(); ++t) load += problem.load(t);
    for (std::uint64_t m = 0; m < problem.messages(); ++m) messages += problem.message_count(m);
    return messages > 0.0 ? 0.01 * load / messages : 0.0;
}

FactorArrays NodeMessages::with_gain(const Factors& factors) {
    FactorArrays arrays = factors.arrays();
    const std::size_t nodes = factors.nodes();
    if (factors.is_matrix()) {
        matrix_.assign(arrays.matrix.begin(), arrays.matrix.end());
        for (std::size_t n = 0; n < nodes; ++n) matrix_[n * nodes + n] = -1.0;
        arrays.matrix = matrix_;
        return arrays;
    }
    // A finer level, on which each node is a group.
    group_.resize(nodes);
    std::iota(group_.begin(), group_.end(), 0U);
    group_.insert(group_.end(), arrays.group.begin(), arrays.group.end());
    level_cost_.assign(1, -1.0);
    level_cost_.insert(level_cost_.end(), arrays.cost.begin(), arrays.cost.end());
    arrays.group = group_;
    arrays.cost = level_cost_;
    return arrays;
}

NodeMessages::NodeMessages(const Problem& problem, const Factors& factors, Direction direction)
    : problem_(problem),
      factors_(with_gain(factors), factors.nodes()),
      sums_(factors_),
      one_factor_(factors_.between_any()),
      messages_(problem.nodes(), 0.0),
      none_received_(problem.nodes(), 0.0),
      terms_(problem.nodes(), 0.0) {
    touched_.reserve(problem.nodes());
    if (direction == Direction::sent) return;
    received_offsets_.assign(problem.tasks() + 1, 0);
    for (std::uint64_t m = 0; m < problem.messages(); ++m) {
        ++received_offsets_[problem.message_to(m) + 1];
    }
    std::partial_sum(received_offsets_.begin(), received_offsets_.end(), received_offsets_.begin());
    received_from_.resize(problem.messages());
    received_count_.resize(problem.messages());
    std::vector<std::uint64_t> next(received_offsets_.begin(), received_offsets_.end() - 1);
    for (Task t = 0; t < problem.tasks(); ++t) {
        for (auto m = problem.first_message(t); m < problem.end_message(t); ++m) {
            const std::uint64_t at = next[problem.message_to(m)]++;
            received_from_[at] = t;
            received_count_[at] = problem.message_count(m);
        }
    }
}

void NodeMessages::count(Task t, const Mapping& mapping) {
    touched_.clear();
    const auto add = [&](Task other, double count) {
        if (other == t || count == 0.0) return;
        const Node n = problem_.node(mapping[other]);
        if (messages_[n] == 0.0) touched_.push_back(n);
        messages_[n] += count;
    };
    for (auto m = problem_.first_message(t); m < problem_.end_message(t); ++m) {
        add(problem_.message_to(m), problem_.message_count(m));
    }
    if (received_offsets_.empty()) return;
    for (auto i = received_offsets_[t]; i < received_offsets_[t + 1]; ++i) {
        add(received_from_[i], received_count_[i]);
    }
}

const std::vector<double>& NodeMessages::terms(Task t, const Mapping& mapping) {
    count(t, mapping);
    if (one_factor_ >= 0.0) {
        double all = 0.0;
        for (Node n : touched_) all += messages_[n];
        std::fill(terms_.begin(), terms_.end(), all * one_factor_);
        for (Node n : touched_) terms_[n] -= messages_[n] * (one_factor_ + 1.0);
    } else {
        sums_.add_up(touched_, messages_, none_received_, terms_);
    }
    for (Node n : touched_) messages_[n] = 0.0;
    return terms_;
}

}  // namespace numascape::balance
