// SPDX-License-Identifier: Apache-2.0
//
// HwTopoLB: L. L. Pilla, C. P. Ribeiro, P. Coucheney, F. Broquedis, B. Gaujal, P. O. A. Navaux and
// J.-F. Mehaut, "A topology-aware load balancing algorithm for clustered hierarchical multi-core
// machines", Future Generation Computer Systems 30, 2014. The steps and parameters are those of the
// authors' public source for Charm++ (HwTopoLB.C, revision 1.4 of August 2013):
//
// The load of a core is that of its tasks plus the time of the messages that they receive, by the
// latency and bandwidth from the sender (without them, cost times NUMA factor). A step draws a core
// (the slowest one with probability 0.8, else any), a task of it (the heaviest one with probability
// 0.8, else any), and a core for the task from a Gibbs distribution: the probability of a core is
// proportional to exp(-makespan / temperature), with the makespan after that migration. The search
// ends when a task is drawn to stay, and after as many steps as there are tasks.
//
// The source's temperature is 0.1 s, for loads that are sums over many iterations. Units of loads
// are free here, so the temperature is a share of the mean load of a core. Where messages are only
// counted, each takes alpha seconds (node_messages.h) times the factor.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "algorithms.h"
#include "core_loads.h"
#include "node_messages.h"
#include "random.h"

namespace numascape::balance {

namespace {

constexpr double kLongestCore = 0.8, kHeaviestTask = 0.8;
// The source's temperature of 0.1 s, relative to a core's load of about 10 s.
constexpr double kTemperature = 0.01;

class GibbsSearch {
  public:
    GibbsSearch(const Problem& problem, const Options& options)
        : problem_(problem),
          message_unit_(message_unit(problem, options)),
          random_(options.seed),
          mapping_(problem.current()),
          received_(problem.tasks(), 0.0),
          time_(problem.cores()),
          longest_(problem.cores()),
          longest_with_tasks_(problem.cores()),
          on_core_(problem.cores()),
          change_(problem.cores(), 0.0),
          cost_(problem.cores()) {
        collect_senders();
        for (Core c = 0; c < problem.cores(); ++c) time_[c] = problem.background(c);
        for (Task t = 0; t < problem.tasks(); ++t) {
            const Core c = mapping_[t];
            received_[t] = receiving(t, problem.node(c));
            time_[c] += problem.time(t, c) + received_[t];
            if (!problem.fixed(t)) on_core_[c].push_back(t);
        }
        for (Core c = 0; c < problem.cores(); ++c) note(c);
        const double all = std::accumulate(time_.begin(), time_.end(), 0.0);
        temperature_ = kTemperature * all / double(problem.cores());
    }

    Mapping run() {
        if (temperature_ <= 0.0) return mapping_;
        for (std::size_t steps = problem_.tasks(); steps > 0; --steps) {
            if (longest_with_tasks_.key() == INFINITY) break;  // all tasks are fixed
            const Core from = draw_core();
            const Task t = draw_task(from);
            const Core to = draw_target(t, from);
            if (to == from) break;
            migrate(t, from, to);
        }
        return mapping_;
    }

  private:
    struct Sender {
        std::uint64_t message;
        Task from;
    };

    void collect_senders() {
        sender_offsets_.assign(problem_.tasks() + 1, 0);
        for (std::uint64_t m = 0; m < problem_.messages(); ++m) {
            ++sender_offsets_[problem_.message_to(m) + 1];
        }
        std::partial_sum(sender_offsets_.begin(), sender_offsets_.end(), sender_offsets_.begin());
        senders_.resize(problem_.messages());
        std::vector<std::uint64_t> next(sender_offsets_.begin(), sender_offsets_.end() - 1);
        for (Task t = 0; t < problem_.tasks(); ++t) {
            for (auto m = problem_.first_message(t); m < problem_.end_message(t); ++m) {
                senders_[next[problem_.message_to(m)]++] = {m, t};
            }
        }
    }

    static double message_unit(const Problem& problem, const Options& options) {
        const Arrays& a = problem.arrays();
        const bool counted =
            !problem.has_times() && a.cost_per_message == 1.0 && a.cost_per_byte == 0.0;
        return counted ? balance_alpha(problem, options) : 1.0;
    }

    double message_time(std::uint64_t m, Node from, Node to) const {
        return message_unit_ * problem_.message_time(m, from, to);
    }

    // The time of the messages that the task receives on this node.
    double receiving(Task t, Node here) const {
        double time = 0.0;
        for (auto i = sender_offsets_[t]; i < sender_offsets_[t + 1]; ++i) {
            if (senders_[i].from == t) continue;
            const Node there = problem_.node(mapping_[senders_[i].from]);
            time += message_time(senders_[i].message, there, here);
        }
        return time;
    }

    void note(Core c) {
        longest_.set(c, -time_[c]);
        longest_with_tasks_.set(c, on_core_[c].empty() ? INFINITY : -time_[c]);
    }

    Core draw_core() {
        if (random_.share() < kLongestCore) return Core(longest_with_tasks_.place());
        Core c = 0;
        do {
            c = random_.below(problem_.cores());
        } while (on_core_[c].empty());
        return c;
    }

    Task draw_task(Core c) {
        const std::vector<Task>& here = on_core_[c];
        if (random_.share() >= kHeaviestTask) return here[random_.below(here.size())];
        const auto lighter = [&](Task a, Task b) {
            return problem_.time(a, c) + received_[a] < problem_.time(b, c) + received_[b];
        };
        return *std::max_element(here.begin(), here.end(), lighter);
    }

    // Calls f(receiver, message) for each message to another task.
    template <typename F>
    void for_each_receiver(Task t, F&& f) const {
        for (auto m = problem_.first_message(t); m < problem_.end_message(t); ++m) {
            if (problem_.message_to(m) != t) f(problem_.message_to(m), m);
        }
    }

    Core draw_target(Task t, Core from) {
        affected_.assign(1, from);
        for_each_receiver(t, [&](Task u, std::uint64_t) { affected_.push_back(mapping_[u]); });
        std::sort(affected_.begin(), affected_.end());
        affected_.erase(std::unique(affected_.begin(), affected_.end()), affected_.end());
        // Finds the two slowest cores among those whose time changes only if the task migrates to
        // them.
        for (Core c : affected_) longest_.set(c, INFINITY);
        const Core first = Core(longest_.place());
        const double longest = -longest_.key();
        longest_.set(first, INFINITY);
        const double second = -longest_.key();
        longest_.set(first, -time_[first]);
        for (Core c : affected_) longest_.set(c, -time_[c]);

        for (Node n = 0; n < problem_.nodes(); ++n) {
            if (problem_.cores_of(n).empty()) continue;
            const double comes = receiving(t, n);
            const double others = change_receivers(t, from, n);
            for (Core c : problem_.cores_of(n)) {
                const double rest = c == first && longest > -INFINITY ? second : longest;
                const double own = time_[c] + problem_.time(t, c) + comes;
                cost_[c] = std::max({rest, others, own});
            }
            for (Core c : affected_) {
                if (problem_.node(c) == n) cost_[c] = with_affected(t, from, c, longest, comes);
            }
            for (Core c : affected_) change_[c] = 0.0;
        }
        cost_[from] = -longest_.key();
        return draw_by_cost();
    }

    // Fills change_ for a migration to node n, and returns the longest affected core.
    double change_receivers(Task t, Core from, Node n) {
        change_[from] -= problem_.time(t, from) + received_[t];
        for_each_receiver(t, [&](Task u, std::uint64_t m) {
            const Node there = problem_.node(mapping_[u]);
            change_[mapping_[u]] +=
                message_time(m, n, there) - message_time(m, problem_.node(from), there);
        });
        double longest = 0.0;
        for (Core c : affected_) longest = std::max(longest, time_[c] + change_[c]);
        return longest;
    }

    double with_affected(Task t, Core from, Core to, double rest, double comes) const {
        double longest = std::max(rest, 0.0);
        for (Core c : affected_) {
            double time = time_[c] + change_[c];
            if (c == to && to != from) time += problem_.time(t, to) + comes;
            longest = std::max(longest, time);
        }
        return longest;
    }

    Core draw_by_cost() {
        const double least = *std::min_element(cost_.begin(), cost_.end());
        // Most cores share a few costs, so the weight is computed only when the cost changes.
        double cost = least, weight = 1.0, sum = 0.0;
        for (Core c = 0; c < problem_.cores(); ++c) {
            if (cost_[c] != cost) {
                cost = cost_[c];
                weight = std::exp((least - cost) / temperature_);
            }
            cost_[c] = sum += weight;
        }
        const double drawn = random_.share() * sum;
        const auto found = std::upper_bound(cost_.begin(), cost_.end(), drawn);
        return Core(
            std::min<std::ptrdiff_t>(found - cost_.begin(), std::ptrdiff_t(problem_.cores()) - 1));
    }

    void migrate(Task t, Core from, Core to) {
        for_each_receiver(t, [&](Task u, std::uint64_t m) {
            const Node there = problem_.node(mapping_[u]);
            const double change = message_time(m, problem_.node(to), there) -
                                  message_time(m, problem_.node(from), there);
            received_[u] += change;
            time_[mapping_[u]] += change;
            note(mapping_[u]);
        });
        time_[from] -= problem_.time(t, from) + received_[t];
        received_[t] = receiving(t, problem_.node(to));
        time_[to] += problem_.time(t, to) + received_[t];
        mapping_[t] = to;
        std::erase(on_core_[from], t);
        on_core_[to].push_back(t);
        note(from);
        note(to);
    }

    const Problem& problem_;
    const double message_unit_;
    Random random_;
    Mapping mapping_;
    std::vector<double> received_;              // seconds of the messages that each task receives
    std::vector<double> time_;                  // per core
    SmallestKey longest_, longest_with_tasks_;  // with negated times as keys
    std::vector<std::vector<Task>> on_core_;    // movable tasks of each core
    std::vector<std::uint64_t> sender_offsets_;
    std::vector<Sender> senders_;
    std::vector<Core> affected_;
    std::vector<double> change_, cost_;
    double temperature_ = 0.0;
};

}  // namespace

Mapping hw_topo_lb(const Problem& problem, const Options& options) {
    if (problem.tasks() == 0 || problem.cores() == 1) return problem.current();
    return GibbsSearch(problem, options).run();
}

}  // namespace numascape::balance
