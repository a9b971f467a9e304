// SPDX-License-Identifier: Apache-2.0
//
// Problems for tests: small ones by hand, and random ones of any shape.
#pragma once

#include <algorithm>
#include <tuple>
#include <vector>

#include "problem.h"
#include "random.h"

namespace numascape::balance {

struct Example {
    std::vector<double> load, migrated_bytes, memory, count, bytes;
    std::vector<Core> core;
    std::vector<std::uint8_t> fixed;
    std::vector<std::uint64_t> offsets{0};
    std::vector<Task> to;
    std::vector<Node> core_node;
    std::vector<double> speed, background, factor, latency, bandwidth, node_memory;

    Arrays arrays() const {
        Arrays a;
        a.load = load, a.core = core, a.fixed = fixed;
        a.migrated_bytes = migrated_bytes, a.memory = memory;
        if (!to.empty()) a.message_offsets = offsets;
        a.message_to = to, a.message_count = count, a.message_bytes = bytes;
        a.core_node = core_node, a.speed = speed, a.background = background;
        a.factor.matrix = factor, a.latency = latency, a.bandwidth = bandwidth;
        a.node_memory = node_memory;
        return a;
    }
    Problem problem() const { return Problem(arrays()); }
};

// Nodes of `cores` cores each; `far` between any two nodes.
inline Example machine(Node nodes, Core cores, double far) {
    Example e;
    for (Node n = 0; n < nodes; ++n) {
        for (Core c = 0; c < cores; ++c) e.core_node.push_back(n);
        for (Node m = 0; m < nodes; ++m) e.factor.push_back(n == m ? 1.0 : far);
    }
    return e;
}

inline void add_tasks(Example& e, std::vector<double> loads, std::vector<Core> cores) {
    e.load = std::move(loads);
    e.core = std::move(cores);
}

// Messages (from, to, count), in any order.
inline void add_messages(Example& e, std::vector<std::tuple<Task, Task, double>> messages) {
    std::stable_sort(messages.begin(), messages.end(),
                     [](const auto& a, const auto& b) { return std::get<0>(a) < std::get<0>(b); });
    e.offsets.assign(e.load.size() + 1, 0);
    auto next = messages.begin();
    for (Task t = 0; t < e.load.size(); ++t) {
        for (; next != messages.end() && std::get<0>(*next) == t; ++next) {
            const auto& [from, to, count] = *next;
            e.to.push_back(to), e.count.push_back(count), e.bytes.push_back(count * 100.0);
        }
        e.offsets[t + 1] = e.to.size();
    }
}

// Different loads, some messages to oneself, a few fixed tasks.
inline Example random_example(std::uint64_t seed, std::size_t tasks, Node nodes, Core cores,
                              bool symmetric = true) {
    Random random(seed);
    Example e = machine(nodes, cores, 1.0);
    for (Node i = 0; i < nodes; ++i) {
        for (Node j = 0; j < nodes; ++j) {
            if (i == j) continue;
            const double factor = 1.1 + 2.0 * random.share();
            e.factor[i * nodes + j] = factor;
            if (symmetric) e.factor[j * nodes + i] = factor;
        }
    }
    std::vector<std::tuple<Task, Task, double>> messages;
    for (Task t = 0; t < tasks; ++t) {
        e.load.push_back(0.05 + random.share());
        e.core.push_back(random.below(nodes * cores));
        e.fixed.push_back(random.below(20) == 0);
        e.migrated_bytes.push_back(1000.0 * random.share());
        for (int i = 0; i < 4; ++i) {
            messages.emplace_back(t, random.below(tasks), 1.0 + random.below(9));
        }
    }
    add_messages(e, messages);
    return e;
}

// side x side tasks of load 1 that exchange a message with each neighbour, in blocks of rows.
inline Example mesh(std::size_t side, Node nodes, Core cores, double far) {
    Example e = machine(nodes, cores, far);
    std::vector<std::tuple<Task, Task, double>> messages;
    const std::size_t tasks = side * side;
    for (Task t = 0; t < tasks; ++t) {
        e.load.push_back(1.0);
        e.core.push_back(Core(t * nodes * cores / tasks));
        const std::size_t x = t % side, y = t / side;
        if (x > 0) messages.emplace_back(t, t - 1, 1.0);
        if (x + 1 < side) messages.emplace_back(t, t + 1, 1.0);
        if (y > 0) messages.emplace_back(t, Task(t - side), 1.0);
        if (y + 1 < side) messages.emplace_back(t, Task(t + side), 1.0);
    }
    add_messages(e, messages);
    return e;
}

}  // namespace numascape::balance
