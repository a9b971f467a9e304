// SPDX-License-Identifier: Apache-2.0
//
// GreedyRefine: Greedy with a preference for staying, as Charm++'s GreedyRefineLB does it. The goal
// is the largest load of a core in Greedy's mapping, times a tolerance. Tasks are taken heaviest
// first. A task stays if its core then stays within the goal; otherwise it goes to the least loaded
// core.
#include <algorithm>

#include "algorithms.h"
#include "core_loads.h"
#include "metrics.h"

namespace numascape::balance {

namespace {
// A core may reach the goal times this factor, to save migrations.
constexpr double kTolerance = 1.0;
}  // namespace

Mapping greedy_refine(const Problem& problem, const Options& options) {
    const std::vector<double> reached = core_times(problem, greedy(problem, options));
    const double goal = kTolerance * *std::max_element(reached.begin(), reached.end());
    Mapping mapping = problem.current();
    CoreLoads loads = CoreLoads::of_fixed_tasks(problem);
    for (Task t : heaviest_first(problem)) {
        if (problem.fixed(t)) continue;
        const Core home = mapping[t];
        if (loads.time(home) + problem.time(t, home) > goal) mapping[t] = loads.least_loaded();
        loads.add(t, mapping[t]);
    }
    return mapping;
}

}  // namespace numascape::balance
