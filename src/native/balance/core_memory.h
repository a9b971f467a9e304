// SPDX-License-Identifier: Apache-2.0
//
// The memory of each core's process (a rank of vt), by the memory model of vt and LBAF. It is a
// sum: what the process needs by itself, what its tasks hold, the blocks that its tasks share (each
// once), and the largest amount that one of its tasks needs in addition while it runs.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "problem.h"

namespace numascape::balance {

class CoreMemory {
  public:
    CoreMemory(const Problem& problem, const Mapping& mapping);

    void add(Task t, Core c);
    void remove(Task t, Core c);
    // Bytes of the core's process.
    double used(Core c) const;
    double excess(Core c) const { return beyond(c, used(c)); }
    // The sum over all cores of bytes beyond their limits.
    double excess() const { return excess_; }
    // Whether the core keeps its limit when these tasks of other cores, with one block or none, are
    // added.
    bool fits(std::span<const Task> tasks, Core c) const;
    // The number of the core's tasks that share the task's block.
    std::uint32_t sharers(Task t, Core c) const;

  private:
    double beyond(Core c, double used) const;
    double largest(Core c) const { return working_[c].empty() ? 0.0 : working_[c].rbegin()->first; }
    static std::uint64_t key(Core c, Block b) { return (std::uint64_t{c} << 32) | b; }
    template <typename Change>
    void change(Core c, Change&& make);

    const Problem* problem_;
    std::vector<double> held_;
    // Per core: the number of tasks by the memory that they need while they run.
    std::vector<std::map<double, std::uint32_t>> working_;
    std::unordered_map<std::uint64_t, std::uint32_t> sharers_;
    double excess_ = 0.0;
};

// Throws BalanceError if no mapping can keep the limits: a task needs more than any core has, or
// all together need more than all cores have.
void check_core_memory(const Problem& problem);

}  // namespace numascape::balance
