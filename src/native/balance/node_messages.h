// SPDX-License-Identifier: Apache-2.0
//
// How many messages a task exchanges with each node, and what NumaLB makes of them.
#pragma once

#include <vector>

#include "algorithms.h"
#include "problem.h"

namespace numascape::balance {

// alpha as the caller wants it, or: a task's mean load over its mean number of messages, divided
// by 100. Messages then weigh like a hundredth of the load, whatever the units of both are: they
// decide among cores whose loads differ by less than measurements do, as in the published results,
// whose few migrations larger values do not give (docs/balance.md).
double balance_alpha(const Problem& problem, const Options& options);

// NumaLB's rule (numa_lb.cpp) with any factors: every task once, the heaviest first.
Mapping map_heaviest_first(const Problem& problem, std::span<const double> factors,
                           const Options& options);

class NodeMessages {
  public:
    // factors: row-major, nodes x nodes.
    NodeMessages(const Problem& problem, std::span<const double> factors, Direction direction);

    // For each node n: sum over m != n of msgs(m) * factor(n, m), minus msgs(n); messages to itself
    // are none. Valid until the next call.
    const std::vector<double>& terms(Task t, const Mapping& mapping);

  private:
    void count(Task t, const Mapping& mapping);

    const Problem& problem_;
    double one_factor_ = -1.0;     // between any two different nodes; < 0: there are several
    std::vector<double> columns_;  // the factors' columns, for adding up contiguously
    std::vector<std::uint64_t> received_offsets_;
    std::vector<Task> received_from_;
    std::vector<double> received_count_;
    std::vector<double> messages_, terms_;
    std::vector<Node> touched_;
};

}  // namespace numascape::balance
