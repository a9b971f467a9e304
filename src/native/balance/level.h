// SPDX-License-Identifier: Apache-2.0
//
// The items that the search moves: tasks, or groups of tasks at a coarser level.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "communication.h"
#include "problem.h"

namespace numascape::balance {

struct Level {
    CommunicationGraph graph;
    std::vector<double> load, memory;
    std::vector<std::uint32_t> count;  // tasks of the group
    std::vector<double> bytes;         // what its migration carries
    std::vector<Core> home;            // where all of the group's tasks are now
    std::vector<std::uint8_t> fixed;

    std::size_t size() const { return load.size(); }
};

Level finest_level(const Problem& problem);

struct Coarsening {
    Level level;
    std::vector<Task> group;  // of each item of the finer level
};

// Pairs items along their most expensive edges. Items are visited in random order. It does not pair
// two items with different homes of which one is fixed, or two items that together weigh more than
// `heaviest`. The result is empty if fewer than a tenth of the items are paired. With `keep_homes`
// false, items with different homes are paired too; the home of the pair is that of the heavier
// item.
std::optional<Coarsening> coarsen(const Level& level, double heaviest, bool keep_homes,
                                  std::uint64_t seed);

// The mapping of items, each where its group is.
Mapping of_items(const Mapping& of_groups, const std::vector<Task>& group);

// Groups as the tasks of a problem for balancers, on the same cores. Migrations and memory are left
// out.
class GroupProblem {
  public:
    // `level` must outlive it.
    GroupProblem(const Problem& problem, const Level& level);
    GroupProblem(const GroupProblem&) = delete;
    GroupProblem& operator=(const GroupProblem&) = delete;

    const Problem& problem() const { return problem_; }

  private:
    Arrays arrays(const Problem& problem, const Level& level);

    std::vector<Node> core_node_;
    std::vector<double> speed_, background_;
    Problem problem_;
};

}  // namespace numascape::balance
