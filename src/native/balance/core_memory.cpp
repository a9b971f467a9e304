// SPDX-License-Identifier: Apache-2.0
#include "core_memory.h"

#include <algorithm>
#include <cstdio>
#include <string>

namespace numascape::balance {

namespace {

// The largest error of rounding, relative to the limit.
constexpr double kRounding = 1e-12;

std::string with_unit(double bytes) {
    const double mib = bytes / 1048576.0;
    const bool large = mib >= 1024.0;
    char text[40];
    std::snprintf(text, sizeof text, "%.4g %s", large ? mib / 1024.0 : mib, large ? "GiB" : "MiB");
    return text;
}

}  // namespace

CoreMemory::CoreMemory(const Problem& problem, const Mapping& mapping)
    : problem_(&problem), held_(problem.cores()), working_(problem.cores()) {
    for (Core c = 0; c < problem.cores(); ++c) {
        held_[c] = problem.core_memory_taken(c);
        excess_ += excess(c);
    }
    for (Task t = 0; t < problem.tasks(); ++t) add(t, mapping[t]);
}

template <typename Change>
void CoreMemory::change(Core c, Change&& make) {
    excess_ -= excess(c);
    make();
    excess_ = std::max(0.0, excess_ + excess(c));
}

void CoreMemory::add(Task t, Core c) {
    change(c, [&] {
        held_[c] += problem_->memory(t);
        ++working_[c][problem_->working(t)];
        const Block block = problem_->block(t);
        if (block != kNoBlock && sharers_[key(c, block)]++ == 0) {
            held_[c] += problem_->block_bytes(block);
        }
    });
}

void CoreMemory::remove(Task t, Core c) {
    change(c, [&] {
        held_[c] -= problem_->memory(t);
        const auto working = working_[c].find(problem_->working(t));
        if (--working->second == 0) working_[c].erase(working);
        const Block block = problem_->block(t);
        if (block == kNoBlock) return;
        const auto shared = sharers_.find(key(c, block));
        if (--shared->second > 0) return;
        sharers_.erase(shared);
        held_[c] -= problem_->block_bytes(block);
    });
}

double CoreMemory::used(Core c) const {
    return held_[c] + largest(c);
}

double CoreMemory::beyond(Core c, double used) const {
    const double limit = problem_->core_memory(c);
    return used > limit * (1.0 + kRounding) ? used - limit : 0.0;
}

bool CoreMemory::fits(std::span<const Task> tasks, Core c) const {
    double held = held_[c], working = largest(c);
    for (Task t : tasks) {
        held += problem_->memory(t);
        working = std::max(working, problem_->working(t));
    }
    const Block block = problem_->block(tasks.front());
    if (block != kNoBlock && sharers(tasks.front(), c) == 0) held += problem_->block_bytes(block);
    return beyond(c, held + working) == 0.0;
}

std::uint32_t CoreMemory::sharers(Task t, Core c) const {
    const auto found = sharers_.find(key(c, problem_->block(t)));
    return found == sharers_.end() ? 0 : found->second;
}

void check_core_memory(const Problem& problem) {
    double room = 0.0, most = 0.0, needed = 0.0;
    for (Core c = 0; c < problem.cores(); ++c) {
        const double left = std::max(0.0, problem.core_memory(c) - problem.core_memory_taken(c));
        room += left;
        most = std::max(most, left);
    }
    std::vector<bool> counted(problem.blocks(), false);
    for (Task t = 0; t < problem.tasks(); ++t) {
        const Block block = problem.block(t);
        const double shared = block == kNoBlock ? 0.0 : problem.block_bytes(block);
        needed += problem.memory(t);
        if (block != kNoBlock && !counted[block]) needed += shared, counted[block] = true;
        const double own = problem.memory(t) + problem.working(t) + shared;
        if (own > most * (1.0 + kRounding)) {
            throw BalanceError("task " + std::to_string(t) + " needs " + with_unit(own) +
                               ", but no core has more than " + with_unit(most) + " for tasks");
        }
    }
    if (needed > room * (1.0 + kRounding)) {
        throw BalanceError("the tasks need " + with_unit(needed) +
                           " together, but all cores have " + with_unit(room) + " for tasks");
    }
}

}  // namespace numascape::balance
