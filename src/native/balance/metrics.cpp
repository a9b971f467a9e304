// SPDX-License-Identifier: Apache-2.0
#include "metrics.h"

#include <algorithm>
#include <string>

#include "core_memory.h"

namespace numascape::balance {

std::vector<double> core_times(const Problem& problem, const Mapping& mapping) {
    std::vector<double> times(problem.cores());
    for (Core c = 0; c < problem.cores(); ++c) times[c] = problem.background(c);
    for (Task t = 0; t < problem.tasks(); ++t) times[mapping[t]] += problem.time(t, mapping[t]);
    return times;
}

void check_mapping(const Problem& problem, const Mapping& mapping) {
    if (mapping.size() != problem.tasks()) {
        throw BalanceError("the mapping has " + std::to_string(mapping.size()) +
                           " tasks instead of " + std::to_string(problem.tasks()));
    }
    for (Task t = 0; t < problem.tasks(); ++t) {
        if (mapping[t] >= problem.cores()) {
            throw BalanceError("the mapping has task " + std::to_string(t) + " on core " +
                               std::to_string(mapping[t]) + " of " +
                               std::to_string(problem.cores()));
        }
        if (problem.fixed(t) && mapping[t] != problem.core(t)) {
            throw BalanceError("the mapping moves task " + std::to_string(t) + ", which is fixed");
        }
    }
}

Metrics measure(const Problem& problem, const Mapping& mapping) {
    check_mapping(problem, mapping);
    Metrics result;
    std::vector<double> times = core_times(problem, mapping);
    const double longest = *std::max_element(times.begin(), times.end());
    if (problem.perfect_time() > 0.0) result.imbalance = longest / problem.perfect_time();

    std::vector<double> memory(problem.nodes(), 0.0);
    for (Task t = 0; t < problem.tasks(); ++t) {
        const Node from = problem.node(mapping[t]);
        memory[from] += problem.memory(t);
        for (auto m = problem.first_message(t); m < problem.end_message(t); ++m) {
            const Node to = problem.node(mapping[problem.message_to(m)]);
            result.communication += problem.message_cost(m) * problem.factor(from, to);
            times[mapping[t]] += problem.message_time(m, from, to);
            if (from != to) result.off_node_bytes += problem.message_bytes(m);
        }
        if (mapping[t] != problem.core(t)) {
            ++result.migrations;
            result.migrated_bytes += problem.migrated_bytes(t);
        }
    }
    const CoreMemory core_memory(problem, mapping);
    for (Core c = 0; c < problem.cores(); ++c) {
        result.core_memory = std::max(result.core_memory, core_memory.used(c));
        result.core_memory_overflow += core_memory.excess(c);
        result.cores_over += core_memory.excess(c) > 0.0;
    }
    result.iteration_time = *std::max_element(times.begin(), times.end());
    for (Node n = 0; n < problem.nodes(); ++n) {
        result.memory_overflow += std::max(0.0, memory[n] - problem.node_memory(n));
    }
    return result;
}

}  // namespace numascape::balance
