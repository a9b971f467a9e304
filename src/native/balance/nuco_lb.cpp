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

// A matrix over the rows of the problem's factors.
std::vector<double> nuco_factors(const Problem& problem) {
    const std::size_t rows = problem.factors().rows();
    const auto latencies = problem.latencies();
    const auto matrix = problem.factors().matrix();
    std::vector<double> factors(matrix.begin(), matrix.end());
    for (std::size_t i = 0; i < rows; ++i) {
        const double own = latencies[i * rows + i];
        if (own == 0.0) continue;
        for (std::size_t j = 0; j < rows; ++j) {
            factors[i * rows + j] = latencies[i * rows + j] / own;
        }
    }
    return factors;
}

}  // namespace

Mapping nuco_lb(const Problem& problem, const Options& options) {
    if (problem.latencies().empty()) {
        return map_heaviest_first(problem, problem.factors(), options);
    }
    const std::vector<double> matrix = nuco_factors(problem);
    // Latencies are known between rows only, so costs by level do not count.
    const Factors factors({matrix, problem.arrays().factor.row, {}, {}}, problem.nodes());
    return map_heaviest_first(problem, factors, options);
}

}  // namespace numascape::balance
