// SPDX-License-Identifier: Apache-2.0
//
// NumaLB on each level of a machine. The authors of NumaLB (numa_lb.cpp) name cache hierarchies and
// clusters as future work, and published NucoLB (nuco_lb.cpp) for nodes of a cluster. This is a
// version of ours, not a published algorithm.
//
// It applies NumaLB's rule from the coarsest level (cost_tree.h) to the finest: hosts, NUMA nodes,
// caches, cores. On each level, every task, the heaviest first, is taken from its group and given
// to the group g, of those within its group of the level above, with the smallest
//
//     time(g) + alpha * ( sum over groups m other than g of msgs(m) * cost(g, m)
//                         - msgs(g) )
//
// where time(g) is what the cores of the group need, and msgs(m) the messages that the task sends
// to tasks on m, or gets from them. A task stays where it is unless another group is strictly
// better. On the last level, groups are cores: a message to another core of a node counts, unlike
// in NumaLB. The time per level and task is O(degree + children * touched children),
// where the children are those of the task's group on the level above.
#include <algorithm>
#include <cmath>

#include "algorithms.h"
#include "communication.h"
#include "cost_tree.h"

namespace numascape::balance {

namespace {

// By default, all messages of a mean task have the weight of this many mean loads. With twice as
// much, meshes of 20 tasks per core have an imbalance of 1.06; with half as much, they communicate
// more.
constexpr double kMessageWeight = 0.5;

double default_alpha(const Problem& problem, const CommunicationGraph& graph) {
    double load = 0.0, messages = 0.0;
    for (Task t = 0; t < problem.tasks(); ++t) load += problem.load(t);
    for (double count : graph.sent) messages += count;
    for (double count : graph.received) messages += count;
    return messages > 0.0 ? kMessageWeight * load / messages : 0.0;
}

class LevelByLevel {
  public:
    LevelByLevel(const Problem& problem, const Options& options)
        : problem_(problem),
          graph_(communication_graph(problem)),
          alpha_(std::isnan(options.alpha) ? default_alpha(problem, graph_) : options.alpha),
          order_(heaviest_first(problem)),
          within_(problem.tasks(), 0),
          at_(problem.tasks()) {}

    Mapping run() {
        const CostTree tree(problem_);
        for (const CostTree::Level& level : tree.levels()) {
            begin(level);
            for (Task t : order_) {
                if (!problem_.fixed(t)) place(level, t);
            }
            within_ = at_;
        }
        const std::vector<Core> cores = tree.cores();
        Mapping mapping(problem_.tasks());
        for (Task t = 0; t < mapping.size(); ++t) mapping[t] = cores[at_[t]];
        return mapping;
    }

  private:
    // Children of one group have consecutive numbers.
    std::uint32_t first_child(std::uint32_t parent) const { return first_[parent]; }
    std::uint32_t children(std::uint32_t parent) const {
        return first_[parent + 1] - first_[parent];
    }
    double time(std::uint32_t g) const { return work_[g] / speed_[g]; }

    // Tasks start where they are; those that come from another group start on the child with the
    // shortest time.
    void begin(const CostTree::Level& level) {
        speed_.assign(level.groups(), 0.0);
        work_.assign(level.groups(), 0.0);
        for (Core c = 0; c < problem_.cores(); ++c) {
            speed_[level.group_of_core[c]] += problem_.speed(c);
            work_[level.group_of_core[c]] += problem_.background(c) * problem_.speed(c);
        }
        first_.assign(level.parent.back() + 2, 0);
        for (std::uint32_t parent : level.parent) ++first_[parent + 1];
        for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
        for (Task t : order_) {
            at_[t] = level.group_of_core[problem_.core(t)];
            if (problem_.fixed(t) || level.parent[at_[t]] == within_[t]) {
                work_[at_[t]] += problem_.load(t);
            }
        }
        for (Task t : order_) {
            if (problem_.fixed(t) || level.parent[at_[t]] == within_[t]) continue;
            const std::uint32_t begin = first_child(within_[t]);
            std::uint32_t best = begin;
            for (std::uint32_t g = begin; g < begin + children(within_[t]); ++g) {
                if (time(g) < time(best)) best = g;
            }
            at_[t] = best;
            work_[best] += problem_.load(t);
        }
        collect_costs(level);
    }

    void collect_costs(const CostTree::Level& level) {
        first_core_.assign(level.groups(), 0);
        for (Core c = Core(problem_.cores()); c-- > 0;) first_core_[level.group_of_core[c]] = c;
        one_cost_ = level.one_cost ? level.cost : -1.0;
        messages_.assign(level.groups(), 0.0);
    }

    double cost(std::uint32_t g, std::uint32_t m) const {
        return one_cost_ >= 0.0
                   ? one_cost_
                   : problem_.factor(problem_.node(first_core_[g]), problem_.node(first_core_[m]));
    }

    void place(const CostTree::Level& level, Task t) {
        const std::uint32_t home = at_[t], parent = within_[t];
        const std::uint32_t begin = first_child(parent), count = children(parent);
        if (count == 1) return;
        work_[home] = std::max(0.0, work_[home] - problem_.load(t));
        touched_.clear();
        double all = 0.0;
        for (auto e = graph_.offsets[t]; e < graph_.offsets[t + 1]; ++e) {
            // To other groups of the level above, messages cost about the same from all children.
            const std::uint32_t m = at_[graph_.neighbour[e]];
            if (level.parent[m] != parent) continue;
            const double sent =
                graph_.sent[e] + (graph_.received.empty() ? 0.0 : graph_.received[e]);
            if (sent == 0.0) continue;
            if (messages_[m] == 0.0) touched_.push_back(m);
            messages_[m] += sent;
            all += sent;
        }
        const auto total = [&](std::uint32_t g) {
            double term = 0.0;
            if (one_cost_ >= 0.0) {
                term = all * one_cost_ - messages_[g] * (one_cost_ + 1.0);
            } else {
                for (std::uint32_t m : touched_) {
                    term += m == g ? -messages_[m] : messages_[m] * cost(g, m);
                }
            }
            return time(g) + alpha_ * term;
        };
        double best = total(home);
        for (std::uint32_t g = begin; g < begin + count; ++g) {
            const double here = g == home ? best : total(g);
            if (here < best) best = here, at_[t] = g;
        }
        work_[at_[t]] += problem_.load(t);
        for (std::uint32_t m : touched_) messages_[m] = 0.0;
    }

    const Problem& problem_;
    const CommunicationGraph graph_;
    const double alpha_;
    const std::vector<Task> order_;
    // Per task: its group on the level above, and on this one.
    std::vector<std::uint32_t> within_, at_;
    std::vector<std::uint32_t> first_;  // child of each group of the level above
    std::vector<Core> first_core_;
    std::vector<double> work_, speed_, messages_;
    std::vector<std::uint32_t> touched_;
    double one_cost_ = 1.0;
};

}  // namespace

Mapping hierarchical_numa_lb(const Problem& problem, const Options& options) {
    if (problem.tasks() == 0 || problem.cores() == 1) return problem.current();
    return LevelByLevel(problem, options).run();
}

}  // namespace numascape::balance
