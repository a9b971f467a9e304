// SPDX-License-Identifier: Apache-2.0
//
// NucoLB: L. L. Pilla et al., "A Hierarchical Approach for Load Balancing on Parallel Multi-core
// Systems", ICPP 2012. NumaLB's rule with NUCO factors instead of NUMA factors: the measured
// latency of messages from node i to node j over that within node i, for nodes of one machine or of
// a network. Without measured latencies, the NUMA factors are used.
#include <vector>

#include "algorithms.h"
#include "node_messages.h"

namespace numascape::balance {

namespace {

std::vector<double> nuco_factors(const Problem& problem) {
    const std::size_t nodes = problem.nodes();
    const auto latencies = problem.latencies();
    std::vector<double> factors(problem.factors().begin(), problem.factors().end());
    for (std::size_t i = 0; i < nodes && !latencies.empty(); ++i) {
        const double own = latencies[i * nodes + i];
        if (own == 0.0) continue;
        for (std::size_t j = 0; j < nodes; ++j) {
            factors[i * nodes + j] = latencies[i * nodes + j] / own;
        }
    }
    return factors;
}

}  // namespace

Mapping nuco_lb(const Problem& problem, const Options& options) {
    return map_heaviest_first(problem, nuco_factors(problem), options);
}

}  // namespace numascape::balance
