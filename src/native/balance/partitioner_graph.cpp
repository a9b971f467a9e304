// SPDX-License-Identifier: Apache-2.0
#include "partitioner_graph.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "communication.h"

namespace numascape::balance {

namespace {

// Sums of weights stay below 2^30, with a remainder for rounding up to 1.
constexpr double kLargestSum = 1 << 29;

double scale_to(double sum, double largest, double finest) {
    if (sum <= 0.0 || largest <= 0.0) return 1.0;
    return std::min(kLargestSum / sum, finest / largest);
}

std::int32_t scaled(double value, double scale) {
    return std::max<std::int32_t>(1, std::int32_t(std::lround(value * scale)));
}

}  // namespace

PartitionerGraph partitioner_graph(const Problem& problem) {
    const CommunicationGraph graph = communication_graph(problem);
    if (graph.neighbour.size() > std::numeric_limits<std::int32_t>::max() / 4 ||
        problem.tasks() > std::numeric_limits<std::int32_t>::max() / 4) {
        throw BalanceError("the graph is too large for partitioners that count in 32 bits");
    }
    PartitionerGraph result;
    std::vector<std::int32_t> vertex(problem.tasks(), -1);
    for (Task t = 0; t < problem.tasks(); ++t) {
        if (problem.fixed(t)) continue;
        vertex[t] = std::int32_t(result.tasks.size());
        result.tasks.push_back(t);
    }
    const auto weight = [&](std::uint64_t e) {
        return graph.sent[e] + (graph.received.empty() ? 0.0 : graph.received[e]);
    };
    double load = 0.0, heaviest = 0.0, cost = 0.0, dearest = 0.0;
    for (Task t : result.tasks) {
        load += problem.load(t);
        heaviest = std::max(heaviest, problem.load(t));
        for (auto e = graph.offsets[t]; e < graph.offsets[t + 1]; ++e) {
            cost += weight(e);
            dearest = std::max(dearest, weight(e));
        }
    }
    // Loads in steps of 1/4096 of the heaviest, edges in steps of 1/1024 of the most expensive.
    const double load_scale = scale_to(load, heaviest, 4096.0);
    const double cost_scale = scale_to(cost, dearest, 1024.0);
    result.offsets.push_back(0);
    for (Task t : result.tasks) {
        result.load.push_back(scaled(problem.load(t), load_scale));
        for (auto e = graph.offsets[t]; e < graph.offsets[t + 1]; ++e) {
            const std::int32_t other = vertex[graph.neighbour[e]];
            if (other < 0) continue;
            result.neighbour.push_back(other);
            result.weight.push_back(scaled(weight(e), cost_scale));
        }
        result.offsets.push_back(std::int32_t(result.neighbour.size()));
    }
    return result;
}

std::vector<Core> cores_by_node(const Problem& problem) {
    std::vector<Core> cores;
    for (Node n = 0; n < problem.nodes(); ++n) {
        const auto here = problem.cores_of(n);
        cores.insert(cores.end(), here.begin(), here.end());
    }
    return cores;
}

Mapping from_parts(const Problem& problem, const PartitionerGraph& graph,
                   const std::vector<std::int32_t>& parts, const std::vector<Core>& cores) {
    Mapping mapping = problem.current();
    for (std::size_t v = 0; v < graph.tasks.size(); ++v) {
        mapping[graph.tasks[v]] = cores.at(std::size_t(parts[v]));
    }
    return mapping;
}

}  // namespace numascape::balance
