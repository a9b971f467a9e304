// SPDX-License-Identifier: Apache-2.0
//
// The number of messages of a task with each node, and the rule of NumaLB.
#pragma once

#include <vector>

#include "algorithms.h"
#include "problem.h"

namespace numascape::balance {

// The caller's alpha, or by default a task's mean load over its mean number of messages, divided by
// 100. Messages then have a hundredth of the weight of the load, in any units. They decide between
// cores whose loads differ by less than measurement errors. Larger values do not give the few
// migrations of the published results (docs/balance.md).
double balance_alpha(const Problem& problem, const Options& options);

// NumaLB's rule (numa_lb.cpp) with any factors: every task once, the heaviest first.
Mapping map_heaviest_first(const Problem& problem, const Factors& factors, const Options& options);

class NodeMessages {
  public:
    // `factors` must outlive this object.
    NodeMessages(const Problem& problem, const Factors& factors, Direction direction);
    NodeMessages(const NodeMessages&) = delete;
    NodeMessages& operator=(const NodeMessages&) = delete;

    // For each node n: the sum over m != n of msgs(m) * factor(n, m), minus msgs(n). Messages of a
    // task to itself do not count. Valid until the next call.
    const std::vector<double>& terms(Task t, const Mapping& mapping);

  private:
    // The same factors, except that a message within a node costs -1.
    FactorArrays with_gain(const Factors& factors);
    void count(Task t, const Mapping& mapping);

    const Problem& problem_;
    std::vector<double> matrix_, level_cost_;
    std::vector<std::uint32_t> group_;
    const Factors factors_;
    FactorSums sums_;
    const double one_factor_;  // between any two different nodes; < 0: there are several
    std::vector<std::uint64_t> received_offsets_;
    std::vector<Task> received_from_;
    std::vector<double> received_count_;
    std::vector<double> messages_, none_received_, terms_;
    std::vector<Node> touched_;
};

}  // namespace numascape::balance
