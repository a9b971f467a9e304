// SPDX-License-Identifier: Apache-2.0
//
// Greedy: list scheduling, the longest processing time first (Graham, "Bounds on multiprocessing
// timing anomalies", 1969), as in Charm++'s GreedyLB. It ignores messages and the present mapping,
// so nearly every task moves.
#include "algorithms.h"
#include "core_loads.h"

namespace numascape::balance {

Mapping greedy(const Problem& problem, const Options&) {
    Mapping mapping = problem.current();
    CoreLoads loads = CoreLoads::of_fixed_tasks(problem);
    for (Task t : heaviest_first(problem)) {
        if (problem.fixed(t)) continue;
        mapping[t] = loads.least_loaded();
        loads.add(t, mapping[t]);
    }
    return mapping;
}

}  // namespace numascape::balance
