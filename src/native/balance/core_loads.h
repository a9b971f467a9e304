// SPDX-License-Identifier: Apache-2.0
//
// The cores' times while tasks move. Finds the least loaded core of a node in constant time; an
// update takes logarithmic time in the number of cores.
#pragma once

#include <bit>
#include <limits>
#include <vector>

#include "problem.h"

namespace numascape::balance {

// The position of the smallest key (the first of equal ones), as a tournament: each inner position
// holds the winner of the two below it.
class SmallestKey {
  public:
    explicit SmallestKey(std::size_t size)
        : leaves_(std::bit_ceil(std::max<std::size_t>(size, 1))),
          keys_(leaves_, std::numeric_limits<double>::infinity()),
          winners_(2 * leaves_) {
        for (std::size_t i = 0; i < leaves_; ++i) winners_[leaves_ + i] = std::uint32_t(i);
        for (std::size_t i = leaves_ - 1; i > 0; --i) decide(i);
    }
    void set(std::size_t place, double key) {
        keys_[place] = key;
        for (std::size_t i = (leaves_ + place) / 2; i > 0; i /= 2) decide(i);
    }
    std::size_t place() const { return winners_[1]; }
    double key() const { return keys_[winners_[1]]; }
    double key(std::size_t place) const { return keys_[place]; }

  private:
    void decide(std::size_t i) {
        const std::uint32_t left = winners_[2 * i], right = winners_[2 * i + 1];
        winners_[i] = keys_[right] < keys_[left] ? right : left;
    }
    std::size_t leaves_;
    std::vector<double> keys_;
    std::vector<std::uint32_t> winners_;
};

class CoreLoads {
  public:
    // The background, and the tasks on the cores of the mapping.
    CoreLoads(const Problem& problem, const Mapping& mapping);
    // The background, and only the fixed tasks.
    static CoreLoads of_fixed_tasks(const Problem& problem);

    void add(Task t, Core c) { change(c, times_[c] + problem_.time(t, c)); }
    void remove(Task t, Core c) {
        // Rounding must not make it negative.
        change(c, std::max(problem_.background(c), times_[c] - problem_.time(t, c)));
    }
    double time(Core c) const { return times_[c]; }
    const std::vector<double>& times() const { return times_; }
    bool has_cores(Node n) const { return !problem_.cores_of(n).empty(); }
    // Infinite for a node without cores.
    double min_time(Node n) const { return by_node_[n].key(); }
    Core least_loaded(Node n) const { return problem_.cores_of(n)[by_node_[n].place()]; }
    Core least_loaded() const { return least_loaded(Node(nodes_.place())); }

  private:
    CoreLoads(const Problem& problem, std::vector<double> times);
    void change(Core c, double time) {
        times_[c] = time;
        const Node n = problem_.node(c);
        by_node_[n].set(place_[c], time);
        nodes_.set(n, by_node_[n].key());
    }
    const Problem& problem_;
    std::vector<double> times_;
    std::vector<std::uint32_t> place_;  // position of a core among the cores of its node
    std::vector<SmallestKey> by_node_;
    SmallestKey nodes_;
};

}  // namespace numascape::balance
