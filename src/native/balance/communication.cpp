// SPDX-License-Identifier: Apache-2.0
#include "communication.h"

#include <algorithm>
#include <numeric>

namespace numascape::balance {

namespace {

struct Pair {
    Task neighbour;
    double sent;
    double received;
};

// Adds up the pairs of one task that have the same neighbour, in place; returns how many are left.
std::size_t merge(Pair* first, Pair* last) {
    std::sort(first, last, [](const Pair& a, const Pair& b) { return a.neighbour < b.neighbour; });
    Pair* end = first;
    for (Pair* p = first; p != last; ++p) {
        if (end != first && end[-1].neighbour == p->neighbour) {
            end[-1].sent += p->sent;
            end[-1].received += p->received;
        } else {
            *end++ = *p;
        }
    }
    return std::size_t(end - first);
}

}  // namespace

CommunicationGraph communication_graph(const Problem& problem) {
    const std::size_t tasks = problem.tasks();
    std::vector<std::uint64_t> at(tasks + 1, 0);
    const auto each_message = [&](auto&& visit) {
        for (Task t = 0; t < tasks; ++t) {
            for (auto m = problem.first_message(t); m < problem.end_message(t); ++m) {
                const Task to = problem.message_to(m);
                if (to != t && problem.message_cost(m) > 0.0) visit(t, to, problem.message_cost(m));
            }
        }
    };
    each_message([&](Task t, Task to, double) { ++at[t + 1], ++at[to + 1]; });
    std::partial_sum(at.begin(), at.end(), at.begin());
    std::vector<Pair> pairs(at[tasks]);
    std::vector<std::uint64_t> next(at.begin(), at.end() - 1);
    each_message([&](Task t, Task to, double cost) {
        pairs[next[t]++] = {to, cost, 0.0};
        pairs[next[to]++] = {t, 0.0, cost};
    });

    const bool directed = !problem.factors().symmetric();
    CommunicationGraph graph;
    graph.offsets.assign(tasks + 1, 0);
    std::uint64_t end = 0;
    for (Task t = 0; t < tasks; ++t) {
        const std::size_t kept = merge(pairs.data() + at[t], pairs.data() + at[t + 1]);
        std::move(pairs.begin() + std::ptrdiff_t(at[t]),
                  pairs.begin() + std::ptrdiff_t(at[t] + kept),
                  pairs.begin() + std::ptrdiff_t(end));
        end += kept;
        graph.offsets[t + 1] = end;
    }
    graph.neighbour.resize(end);
    graph.sent.resize(end);
    if (directed) graph.received.resize(end);
    for (std::uint64_t e = 0; e < end; ++e) {
        graph.neighbour[e] = pairs[e].neighbour;
        graph.sent[e] = directed ? pairs[e].sent : pairs[e].sent + pairs[e].received;
        if (directed) graph.received[e] = pairs[e].received;
    }
    return graph;
}

NodeCosts::NodeCosts(const Problem& problem)
    : factors_(problem.factors()),
      sums_(problem.factors()),
      one_factor_(problem.factors().between_any()),
      diagonal_(problem.factor(0, 0)),
      sent_(problem.nodes(), 0.0),
      received_(problem.nodes(), 0.0),
      costs_(problem.nodes(), 0.0),
      is_touched_(problem.nodes(), 0),
      is_near_row_(problem.factors().rows(), 0),
      all_(problem.nodes()) {
    touched_.reserve(problem.nodes());
    std::iota(all_.begin(), all_.end(), 0U);
}

void NodeCosts::add_up() {
    if (one_factor_ >= 0.0) {
        for (Node n : touched_) costs_[n] = (sent_[n] + received_[n]) * (diagonal_ - one_factor_);
    } else {
        sums_.add_up(touched_, sent_, received_, costs_);
    }
    for (Node n : touched_) sent_[n] = received_[n] = 0.0, is_touched_[n] = 0;
}

}  // namespace numascape::balance
