// SPDX-License-Identifier: Apache-2.0
//
// What the search moves around: tasks, or groups of tasks that stay together at a coarser level.
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

// Pairs items along their dearest edges, heaviest edges first served by a random visit order; none
// of two items with different homes, of which one is fixed, or that together weigh more than
// `heaviest`. Nothing when fewer than a tenth of the items disappear that way.
// With `keep_homes` false, items of different homes pair too; the group's home is its heavier
// one's.
std::optional<Coarsening> coarsen(const Level& level, double heaviest, bool keep_homes,
                                  std::uint64_t seed);

}  // namespace numascape::balance
