// SPDX-License-Identifier: Apache-2.0
//
// NumaLB: L. L. Pilla, C. P. Ribeiro, D. Cordeiro, A. Bhatele, P. Navaux, J.-F. Mehaut, L. V. Kale,
// "Improving Parallel System Performance with a NUMA-aware Load Balancer", TR-JLPC-11-02, 2011.
//
// Every task once, the heaviest first: it is taken from its core c0 and given to the core c with
// the smallest
//
//     time(c) + alpha * ( sum over nodes m other than node(c) of msgs(m) * factor(node(c), m)
//                         - msgs(node(c)) )
//
// where msgs(m) is the number of messages that the task sends to tasks now on node m. A task stays
// where it is unless another core is strictly better, and of equal cores the least numbered one of
// the least numbered node wins.
//
// The communication term is the same for all cores of a node, so only the least loaded core of each
// node can win: per task O(degree + nodes * touched nodes + log cores), and with one factor between
// any two nodes O(degree + nodes + log cores).
#include "algorithms.h"
#include "core_loads.h"
#include "node_messages.h"

namespace numascape::balance {

Mapping map_heaviest_first(const Problem& problem, const Factors& factors, const Options& options) {
    Mapping mapping = problem.current();
    CoreLoads loads(problem, mapping);
    NodeMessages messages(problem, factors, options.direction);
    const double alpha = balance_alpha(problem, options);
    const std::vector<Task> order = heaviest_first(problem);
    for (std::size_t i = 0; i < order.size(); ++i) {
        // Tasks in the order of load are at random places in memory, so the data of the next tasks
        // are prefetched.
        if (i + 24 < order.size()) problem.prefetch_offsets(order[i + 24]);
        if (i + 12 < order.size()) problem.prefetch_messages(order[i + 12]);
        const Task t = order[i];
        if (problem.fixed(t)) continue;
        const Core home = mapping[t];
        loads.remove(t, home);
        const std::vector<double>& terms = messages.terms(t, mapping);
        double best = loads.time(home) + alpha * terms[problem.node(home)];
        for (Node n = 0; n < problem.nodes(); ++n) {
            const double cost = loads.min_time(n) + alpha * terms[n];
            if (cost < best) {
                best = cost;
                mapping[t] = loads.least_loaded(n);
            }
        }
        loads.add(t, mapping[t]);
    }
    return mapping;
}

Mapping numa_lb(const Problem& problem, const Options& options) {
    return map_heaviest_first(problem, problem.factors(), options);
}

}  // namespace numascape::balance
