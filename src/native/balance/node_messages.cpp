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

NodeMessages::NodeMessages(const Problem& problem, std::span<const double> factors,
                           Direction direction)
    : problem_(problem),
      columns_(problem.nodes() * problem.nodes()),
      messages_(problem.nodes(), 0.0),
      terms_(problem.nodes(), 0.0) {
    const Node nodes = Node(problem.nodes());
    bool one = nodes > 1;
    for (Node i = 0; i < nodes; ++i) {
        for (Node j = 0; j < nodes; ++j) {
            // On its own node, a message counts -1, for any value of the diagonal.
            columns_[j * nodes + i] = i == j ? -1.0 : factors[i * nodes + j];
            one = one && (i == j || factors[i * nodes + j] == factors[1]);
        }
    }
    if (one) one_factor_ = factors[1];
    touched_.reserve(nodes);
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
    const std::size_t nodes = problem_.nodes();
    if (one_factor_ >= 0.0) {
        double all = 0.0;
        for (Node n : touched_) all += messages_[n];
        std::fill(terms_.begin(), terms_.end(), all * one_factor_);
        for (Node n : touched_) terms_[n] -= messages_[n] * (one_factor_ + 1.0);
    } else {
        std::fill(terms_.begin(), terms_.end(), 0.0);
        for (Node m : touched_) {
            const double* column = &columns_[m * nodes];
            for (std::size_t n = 0; n < nodes; ++n) terms_[n] += messages_[m] * column[n];
        }
    }
    for (Node n : touched_) messages_[n] = 0.0;
    return terms_;
}

}  // namespace numascape::balance
