// SPDX-License-Identifier: Apache-2.0
#include "core_loads.h"

#include <utility>

#include "metrics.h"

namespace numascape::balance {

CoreLoads::CoreLoads(const Problem& problem, const Mapping& mapping)
    : CoreLoads(problem, core_times(problem, mapping)) {}

CoreLoads CoreLoads::of_fixed_tasks(const Problem& problem) {
    std::vector<double> times(problem.cores());
    for (Core c = 0; c < problem.cores(); ++c) times[c] = problem.background(c);
    for (Task t = 0; t < problem.tasks(); ++t) {
        if (problem.fixed(t)) times[problem.core(t)] += problem.time(t, problem.core(t));
    }
    return {problem, std::move(times)};
}

CoreLoads::CoreLoads(const Problem& problem, std::vector<double> times)
    : problem_(problem),
      times_(std::move(times)),
      place_(problem.cores()),
      nodes_(problem.nodes()) {
    by_node_.reserve(problem.nodes());
    for (Node n = 0; n < problem.nodes(); ++n) {
        const auto cores = problem.cores_of(n);
        by_node_.emplace_back(cores.size());
        for (std::size_t i = 0; i < cores.size(); ++i) {
            place_[cores[i]] = std::uint32_t(i);
            by_node_[n].set(i, times_[cores[i]]);
        }
        nodes_.set(n, by_node_[n].key());
    }
}

}  // namespace numascape::balance
