// SPDX-License-Identifier: Apache-2.0
//
// HwTopoLB: after L. L. Pilla, C. P. Ribeiro, P. Coucheney, F. Broquedis, B. Gaujal, P. O. A.
// Navaux and J.-F. Mehaut, "A topology-aware load balancing algorithm for clustered hierarchical
// multi-core machines", Future Generation Computer Systems 30, 2014. As there, a task's cost on a
// core is the time of the core's tasks plus the time of the task's messages, sent and received, by
// the measured latency and bandwidth of each pair of nodes (without them, cost times NUMA factor),
// and the mapping improves step by step. The paper draws the next core at random; here it is the
// longest one, so that the result is deterministic. Its heaviest task moves for which another core
// is cheaper and does not become longer than this core, until there is no such task.
#include <algorithm>
#include <numeric>

#include "algorithms.h"
#include "core_loads.h"

namespace numascape::balance {

namespace {

class Stepwise {
  public:
    explicit Stepwise(const Problem& problem)
        : problem_(problem),
          mapping_(problem.current()),
          loads_(problem, mapping_),
          longest_(problem.cores()),
          on_core_(problem.cores()),
          cost_(problem.nodes()) {
        for (Task t : heaviest_first(problem)) {
            if (!problem.fixed(t)) on_core_[mapping_[t]].push_back(t);
        }
        for (Core c = 0; c < problem.cores(); ++c) longest_.set(c, -loads_.time(c));
        collect_received();
    }

    Mapping run() {
        // Each step lowers the sum of squares of times; so many steps are enough in practice.
        for (std::size_t steps = 4 * problem_.tasks(); steps > 0 && step(); --steps) {
        }
        return mapping_;
    }

  private:
    bool step() {
        const Core from = Core(longest_.place());
        for (Task t : on_core_[from]) {
            const Core to = cheapest(t, from);
            if (to == from || loads_.time(to) + problem_.time(t, to) >= loads_.time(from)) continue;
            move(t, from, to);
            return true;
        }
        return false;
    }

    // Compares costs without the task.
    Core cheapest(Task t, Core from) {
        message_times(t);
        const double home = loads_.time(from) + cost_[problem_.node(from)];
        double best = home;
        Core core = from;
        for (Node n = 0; n < problem_.nodes(); ++n) {
            if (!loads_.has_cores(n)) continue;
            const Core c = loads_.least_loaded(n);
            const double cost = loads_.time(c) + problem_.time(t, c) + cost_[n];
            if (c != from && cost < best) best = cost, core = c;
        }
        return core;
    }

    void message_times(Task t) {
        std::fill(cost_.begin(), cost_.end(), 0.0);
        const auto add = [&](std::uint64_t m, Task other, bool sent) {
            if (other == t) return;
            const Node there = problem_.node(mapping_[other]);
            for (Node n = 0; n < problem_.nodes(); ++n) {
                cost_[n] +=
                    sent ? problem_.message_time(m, n, there) : problem_.message_time(m, there, n);
            }
        };
        for (auto m = problem_.first_message(t); m < problem_.end_message(t); ++m) {
            add(m, problem_.message_to(m), true);
        }
        for (auto i = received_offsets_[t]; i < received_offsets_[t + 1]; ++i) {
            add(received_[i].message, received_[i].from, false);
        }
    }

    void move(Task t, Core from, Core to) {
        loads_.remove(t, from);
        loads_.add(t, to);
        mapping_[t] = to;
        longest_.set(from, -loads_.time(from));
        longest_.set(to, -loads_.time(to));
        std::erase(on_core_[from], t);
        const auto heavier = [&](Task a, Task b) {
            return problem_.load(a) > problem_.load(b) ||
                   (problem_.load(a) == problem_.load(b) && a < b);
        };
        auto& there = on_core_[to];
        there.insert(std::upper_bound(there.begin(), there.end(), t, heavier), t);
    }

    void collect_received() {
        received_offsets_.assign(problem_.tasks() + 1, 0);
        for (std::uint64_t m = 0; m < problem_.messages(); ++m) {
            ++received_offsets_[problem_.message_to(m) + 1];
        }
        std::partial_sum(received_offsets_.begin(), received_offsets_.end(),
                         received_offsets_.begin());
        received_.resize(problem_.messages());
        std::vector<std::uint64_t> next(received_offsets_.begin(), received_offsets_.end() - 1);
        for (Task t = 0; t < problem_.tasks(); ++t) {
            for (auto m = problem_.first_message(t); m < problem_.end_message(t); ++m) {
                received_[next[problem_.message_to(m)]++] = {m, t};
            }
        }
    }

    struct Received {
        std::uint64_t message;
        Task from;
    };
    const Problem& problem_;
    Mapping mapping_;
    CoreLoads loads_;
    SmallestKey longest_;  // of negated times
    std::vector<std::vector<Task>> on_core_;
    std::vector<double> cost_;
    std::vector<std::uint64_t> received_offsets_;
    std::vector<Received> received_;
};

}  // namespace

Mapping hw_topo_lb(const Problem& problem, const Options&) {
    return Stepwise(problem).run();
}

}  // namespace numascape::balance
