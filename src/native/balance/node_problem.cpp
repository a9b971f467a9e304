// SPDX-License-Identifier: Apache-2.0
#include "node_problem.h"

#include "core_loads.h"

namespace numascape::balance {

namespace {

// How much of the imbalance of cores nodes may use. With all of it, meshes and AMR graphs of 10 000
// tasks had 3 % more communication, because full nodes had to give tasks away; with 0.9 or 0.95, as
// much as with this.
constexpr double kShareForNodes = 0.8;

}  // namespace

NodeProblem::NodeProblem(const Problem& of) : of_(of), problem_(arrays()) {}

Arrays NodeProblem::arrays() {
    place_.assign(of_.nodes(), 0);
    for (Node n = 0; n < of_.nodes(); ++n) {
        if (of_.cores_of(n).empty()) continue;
        place_[n] = Core(node_.size());
        node_.push_back(n);
        double speed = 0.0, busy = 0.0;
        for (Core c : of_.cores_of(n)) {
            speed += of_.speed(c);
            busy += of_.background(c) * of_.speed(c);
        }
        speed_.push_back(speed);
        background_.push_back(busy / speed);
    }
    home_ = of_cores(of_.current());
    Arrays result = of_.arrays();
    result.core = home_;
    result.core_node = node_;
    result.core_memory = result.core_memory_taken = {};  // limits of cores do not apply to nodes
    result.speed = speed_;
    result.background = background_;
    return result;
}

Mapping NodeProblem::of_cores(const Mapping& mapping) const {
    Mapping nodes(mapping.size());
    for (Task t = 0; t < mapping.size(); ++t) nodes[t] = place_[of_.node(mapping[t])];
    return nodes;
}

Mapping NodeProblem::on_cores(const Mapping& nodes, const Mapping& before, double longest) const {
    Mapping mapping = before;
    CoreLoads loads = CoreLoads::of_fixed_tasks(of_);
    std::vector<Task> move;
    for (Task t : heaviest_first(of_)) {
        if (of_.fixed(t)) continue;
        const bool fits = loads.time(before[t]) + of_.time(t, before[t]) <= longest;
        if (fits && of_.node(before[t]) == node_[nodes[t]]) {
            loads.add(t, before[t]);
        } else {
            move.push_back(t);
        }
    }
    for (Task t : move) {
        mapping[t] = loads.least_loaded(node_[nodes[t]]);
        loads.add(t, mapping[t]);
    }
    return mapping;
}

Goal goal_on_nodes(const Problem& nodes, const Goal& goal) {
    Goal result = goal;
    const double perfect = nodes.perfect_time();
    if (goal.longest > perfect)
        result.longest = perfect + kShareForNodes * (goal.longest - perfect);
    return result;
}

}  // namespace numascape::balance
