// SPDX-License-Identifier: Apache-2.0
#include "search_state.h"

#include <algorithm>
#include <utility>

#include "metrics.h"

namespace numascape::balance {

Goal search_goal(const Problem& problem, const Options& options) {
    Goal goal;
    goal.longest = std::max(1.0, aimed_imbalance(options)) * problem.perfect_time();
    if (std::isnan(options.max_imbalance)) {
        const std::vector<double> reached = core_times(problem, greedy(problem, options));
        goal.longest = std::max(goal.longest, *std::max_element(reached.begin(), reached.end()));
    }
    std::vector<double> stays(problem.cores());
    double fastest = 0.0;
    for (Core c = 0; c < problem.cores(); ++c) {
        stays[c] = problem.background(c);
        fastest = std::max(fastest, problem.speed(c));
    }
    double total = 0.0, to_itself = 0.0;
    for (Task t = 0; t < problem.tasks(); ++t) {
        if (problem.fixed(t)) stays[problem.core(t)] += problem.time(t, problem.core(t));
        goal.longest = std::max(goal.longest, problem.load(t) / fastest);
        const Node from = problem.node(problem.core(t));
        for (auto m = problem.first_message(t); m < problem.end_message(t); ++m) {
            const Node to = problem.node(problem.core(problem.message_to(m)));
            total += problem.message_cost(m) * problem.factor(from, to);
            if (problem.message_to(m) == t) {
                to_itself += problem.message_cost(m) * problem.factor(from, from);
            }
        }
    }
    goal.longest = std::max(goal.longest, *std::max_element(stays.begin(), stays.end()));
    goal.communication_weight = options.communication_weight;
    goal.price = options.migration_price;
    if (std::isnan(goal.price)) {
        const double mean = total / double(std::max<std::size_t>(1, problem.tasks()));
        // Without messages, any price leads to the fewest migrations.
        goal.price = mean > 0.0 ? mean * std::max(1.0, options.communication_weight) : 1.0;
    }
    const double iterations = std::max(options.iterations, 1e-300);
    goal.price /= iterations;
    goal.byte_price = options.byte_price / iterations;
    // The search does not see messages of tasks to themselves.
    goal.max_communication = options.max_communication - to_itself;
    goal.max_migrations = options.max_migrations;
    goal.max_migrated_bytes = options.max_migrated_bytes;
    return goal;
}

SearchState::SearchState(const Problem& problem, const Level& level, const Goal& goal,
                         Mapping mapping)
    : problem_(problem), level_(level), goal_(goal), mapping_(std::move(mapping)) {
    total_up();
    limit_nodes();
    if (!problem.limits_core_memory() || level.size() != problem.tasks()) return;
    core_memory_.emplace(problem, mapping_);
    for (Core c = 0; c < problem.cores(); ++c) all_core_memory_ += problem.core_memory(c);
}

void SearchState::limit_nodes() {
    if (problem_.arrays().node_memory.empty() || problem_.arrays().memory.empty()) return;
    allowed_memory_.assign(problem_.nodes(), 0.0);
    for (Task t = 0; t < problem_.tasks(); ++t) {
        allowed_memory_[problem_.node(problem_.core(t))] += problem_.memory(t);
    }
    for (Node n = 0; n < problem_.nodes(); ++n) {
        allowed_memory_[n] = std::max(allowed_memory_[n], problem_.node_memory(n));
        all_node_memory_ += allowed_memory_[n];
        node_excess_ += beyond(n, memory_[n]);
    }
}

void SearchState::total_up() {
    times_.resize(problem_.cores());
    memory_.assign(problem_.nodes(), 0.0);
    for (Core c = 0; c < problem_.cores(); ++c) times_[c] = problem_.background(c);
    const CommunicationGraph& graph = level_.graph;
    double both = 0.0;
    for (Task t = 0; t < level_.size(); ++t) {
        const Node n = problem_.node(mapping_[t]);
        times_[mapping_[t]] += item_time(t, mapping_[t]);
        memory_[n] += level_.memory[t];
        for (auto e = graph.offsets[t]; e < graph.offsets[t + 1]; ++e) {
            const Node m = problem_.node(mapping_[graph.neighbour[e]]);
            both += graph.sent[e] * problem_.factor(n, m);
            if (!graph.received.empty()) both += graph.received[e] * problem_.factor(m, n);
        }
        if (at_home(t)) continue;
        paid_ += price(t);
        migrations_ += level_.count[t];
        migrated_bytes_ += level_.bytes[t];
    }
    communication_ = both / 2.0;  // each pair was seen from both of its ends
    for (double time : times_) overtime_ += over(time);
}

double SearchState::communication_change(Task t, Core to) const {
    const Node from = problem_.node(mapping_[t]), there = problem_.node(to);
    if (from == there) return 0.0;
    const CommunicationGraph& graph = level_.graph;
    double change = 0.0;
    for (auto e = graph.offsets[t]; e < graph.offsets[t + 1]; ++e) {
        const Node n = problem_.node(mapping_[graph.neighbour[e]]);
        change += graph.sent[e] * (problem_.factor(there, n) - problem_.factor(from, n));
        if (!graph.received.empty()) {
            change += graph.received[e] * (problem_.factor(n, there) - problem_.factor(n, from));
        }
    }
    return change;
}

double SearchState::price_change(Task t, Core to) const {
    const bool was_home = at_home(t), is_home = to == level_.home[t];
    return was_home == is_home ? 0.0 : (is_home ? -price(t) : price(t));
}

void SearchState::move(Task t, Core to, double communication_change) {
    const Core from = mapping_[t];
    if (from == to) return;
    overtime_ -= over(times_[from]) + over(times_[to]);
    times_[from] = std::max(problem_.background(from), times_[from] - item_time(t, from));
    times_[to] += item_time(t, to);
    overtime_ += over(times_[from]) + over(times_[to]);
    const Node a = problem_.node(from), b = problem_.node(to);
    node_excess_ -= node_memory_excess(a) + node_memory_excess(b);
    memory_[a] -= level_.memory[t];
    memory_[b] += level_.memory[t];
    node_excess_ += node_memory_excess(a) + node_memory_excess(b);
    if (core_memory_) {
        core_memory_->remove(t, from);
        core_memory_->add(t, to);
    }
    communication_ += communication_change;
    const double paid = price_change(t, to);
    const double sign = double(to != level_.home[t]) - double(from != level_.home[t]);
    paid_ += paid;
    migrations_ += sign * level_.count[t];
    migrated_bytes_ += sign * level_.bytes[t];
    mapping_[t] = to;
}

namespace {

double share_beyond(double value, double cap) {
    return value > cap * (1.0 + 1e-12) ? (value - cap) / std::max(cap, 1e-300) : 0.0;
}

bool differ(double a, double b) {
    return std::abs(a - b) > 1e-12 * (1.0 + a + b);
}

}  // namespace

double SearchState::excess() const {
    const double scale = std::max(problem_.perfect_time(), 1e-300);
    // Rounding errors do not count as excess.
    const double late = overtime_ / scale > 1e-9 ? overtime_ / scale : 0.0;
    return late + share_beyond(communication_, goal_.max_communication);
}

double SearchState::migration_excess() const {
    return share_beyond(migrations_, goal_.max_migrations) +
           share_beyond(migrated_bytes_, goal_.max_migrated_bytes);
}

double SearchState::memory_excess() const {
    double share = node_excess_ / std::max(all_node_memory_, 1e-300);
    if (core_memory_) share += core_memory_->excess() / std::max(all_core_memory_, 1e-300);
    return share > 1e-12 ? share : 0.0;
}

bool better(const SearchState& a, const SearchState& b) {
    if (differ(a.migration_excess(), b.migration_excess())) {
        return a.migration_excess() < b.migration_excess();
    }
    if (differ(a.memory_excess(), b.memory_excess())) return a.memory_excess() < b.memory_excess();
    if (differ(a.excess(), b.excess())) return a.excess() < b.excess();
    return a.cost() < b.cost() - 1e-12 * std::abs(b.cost());
}

}  // namespace numascape::balance
