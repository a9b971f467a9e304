// SPDX-License-Identifier: Apache-2.0
//
// RecBipart: recursive bipartition of the communication graph, as Charm++'s RecBipartLB does it.
// The cores are halved, and the tasks with them: one half grows from its heaviest communicator,
// always by the task that communicates most with it, until it has its cores' share of the load.
// Nodes are kept together, because cores are halved in the order of their nodes. Fixed tasks stay,
// and their cores get less of the others.
#include <algorithm>
#include <queue>

#include "algorithms.h"
#include "communication.h"

namespace numascape::balance {

namespace {

class Bipartition {
  public:
    explicit Bipartition(const Problem& problem)
        : problem_(problem),
          graph_(communication_graph(problem)),
          mapping_(problem.current()),
          side_(problem.tasks(), kOutside),
          attraction_(problem.tasks(), 0.0),
          taken_(problem.cores(), 0.0) {
        for (Node n = 0; n < problem.nodes(); ++n) {
            for (Core c : problem.cores_of(n))
                cores_.push_back(c), taken_[c] = problem.background(c);
        }
        for (Task t = 0; t < problem.tasks(); ++t) {
            if (problem.fixed(t)) {
                taken_[mapping_[t]] += problem.time(t, mapping_[t]);
            } else {
                movable_.push_back(t);
            }
        }
    }

    Mapping run() {
        split(movable_, cores_);
        return mapping_;
    }

  private:
    static constexpr std::uint8_t kOutside = 0, kWaiting = 1, kTaken = 2;

    double work(std::span<const Task> tasks) const {
        double sum = 0.0;
        for (Task t : tasks) sum += problem_.load(t);
        return sum;
    }
    // The work that the cores can still take until each has run for `time`.
    double room(std::span<const Core> cores, double time) const {
        double sum = 0.0;
        for (Core c : cores) sum += std::max(0.0, time - taken_[c]) * problem_.speed(c);
        return sum;
    }

    void split(std::span<Task> tasks, std::span<const Core> cores) {
        if (tasks.empty()) return;
        if (cores.size() == 1) {
            for (Task t : tasks) mapping_[t] = cores[0];
            return;
        }
        const auto left = cores.first(cores.size() / 2), right = cores.subspan(cores.size() / 2);
        double time = 0.0, speed = 0.0;
        for (Core c : cores) time += taken_[c] * problem_.speed(c), speed += problem_.speed(c);
        time = (time + work(tasks)) / speed;
        const double rooms = room(left, time) + room(right, time);
        const double share = rooms > 0.0 ? room(left, time) / rooms : 0.5;
        const std::size_t grown = grow(tasks, share * work(tasks));
        split(tasks.first(grown), left);
        split(tasks.subspan(grown), right);
    }

    // Brings tasks of about `wanted` load to the front; returns how many.
    std::size_t grow(std::span<Task> tasks, double wanted) {
        for (Task t : tasks) side_[t] = kWaiting, attraction_[t] = 0.0;
        const auto inner_degree = [&](Task t) {
            double sum = 0.0;
            for (auto e = graph_.offsets[t]; e < graph_.offsets[t + 1]; ++e) {
                if (side_[graph_.neighbour[e]] == kWaiting) sum += weight(e);
            }
            return sum;
        };
        std::vector<std::pair<double, Task>> ranked;
        for (Task t : tasks) ranked.emplace_back(-inner_degree(t), t);
        std::sort(ranked.begin(), ranked.end());

        std::priority_queue<std::pair<double, std::int64_t>> border;
        double load = 0.0;
        std::size_t next_seed = 0, count = 0;
        while (count < tasks.size()) {
            const Task t = next(border, ranked, next_seed);
            // The task that crosses the limit goes to the side on which the error is smaller.
            if (load + problem_.load(t) / 2 > wanted) break;
            side_[t] = kTaken;
            load += problem_.load(t);
            ++count;
            for (auto e = graph_.offsets[t]; e < graph_.offsets[t + 1]; ++e) {
                const Task other = graph_.neighbour[e];
                if (side_[other] != kWaiting) continue;
                attraction_[other] += weight(e);
                border.emplace(attraction_[other], -std::int64_t{other});
            }
        }
        std::stable_partition(tasks.begin(), tasks.end(),
                              [&](Task t) { return side_[t] == kTaken; });
        for (Task t : tasks) side_[t] = kOutside;
        return count;
    }

    Task next(std::priority_queue<std::pair<double, std::int64_t>>& border,
              const std::vector<std::pair<double, Task>>& ranked, std::size_t& seed) const {
        while (!border.empty()) {
            const auto [attraction, negated] = border.top();
            const Task t = Task(-negated);
            border.pop();
            // Only the last entry of a task is valid.
            if (side_[t] == kWaiting && attraction == attraction_[t]) return t;
        }
        while (side_[ranked[seed].second] != kWaiting) ++seed;
        return ranked[seed].second;
    }

    double weight(std::uint64_t e) const {
        return graph_.sent[e] + (graph_.received.empty() ? 0.0 : graph_.received[e]);
    }

    const Problem& problem_;
    CommunicationGraph graph_;
    Mapping mapping_;
    std::vector<std::uint8_t> side_;
    std::vector<double> attraction_;
    std::vector<double> taken_;
    std::vector<Core> cores_;
    std::vector<Task> movable_;
};

}  // namespace

Mapping rec_bipart(const Problem& problem, const Options&) {
    return Bipartition(problem).run();
}

}  // namespace numascape::balance
