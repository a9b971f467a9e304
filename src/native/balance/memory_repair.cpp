// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <span>
#include <vector>

#include "refinement.h"

namespace numascape::balance {

namespace {

// Tasks that leave together.
struct Group {
    std::vector<Task> tasks;
    double load = 0.0;
};

class MemoryRepair {
  public:
    explicit MemoryRepair(SearchState& state) : state_(state), problem_(state.problem()) {}

    // Moves one group away from the core; false if no group can leave.
    bool relieve(Core from) {
        const double before = state_.core_memory()->excess(from);
        Choice best;
        for (const Group& group : groups(from)) {
            for (Core to = 0; to < problem_.cores(); ++to) {
                if (to != from && room(group, to)) consider(group, from, to, before, best);
            }
        }
        if (best.to == kNone) return false;
        for (Task t : best.tasks) state_.move(t, best.to);
        return true;
    }

  private:
    static constexpr Core kNone = ~Core{0};
    struct Choice {
        double overtime = INFINITY, cost = INFINITY;
        std::vector<Task> tasks;
        Core to = kNone;
    };

    // Movable tasks: each that shares no block is alone. A block with a task that is fixed here
    // stays here, so its other tasks are alone, too.
    std::vector<Group> groups(Core c) const {
        std::map<Block, Group> sharers;
        std::vector<Group> result;
        for (Task t = 0; t < problem_.tasks(); ++t) {
            if (state_.mapping()[t] != c || problem_.fixed(t)) continue;
            if (problem_.block(t) == kNoBlock) {
                result.push_back({{t}, problem_.load(t)});
            } else {
                Group& group = sharers[problem_.block(t)];
                group.tasks.push_back(t);
                group.load += problem_.load(t);
            }
        }
        for (auto& [block, group] : sharers) {
            const bool whole =
                group.tasks.size() == state_.core_memory()->sharers(group.tasks.front(), c);
            if (whole) {
                result.push_back(std::move(group));
            } else {
                for (Task t : group.tasks) result.push_back({{t}, problem_.load(t)});
            }
        }
        return result;
    }

    bool room(const Group& group, Core to) const {
        double migrations = state_.migrations();
        for (Task t : group.tasks) {
            migrations += state_.at_home(t);
        }
        return migrations <= state_.goal().max_migrations &&
               state_.core_memory()->fits(group.tasks, to) &&
               (group.tasks.size() > 1 ||
                state_.memory_fits(group.tasks.front(), problem_.node(to)));
    }

    // The effect of the move, which is made and reverted.
    void consider(const Group& group, Core from, Core to, double before, Choice& best) {
        for (Task t : group.tasks) state_.move(t, to);
        const bool helps = state_.core_memory()->excess(from) < before &&
                           state_.migrated_bytes() <= state_.goal().max_migrated_bytes;
        const double overtime = state_.overtime(), cost = state_.cost();
        for (Task t : group.tasks) state_.move(t, from);
        if (!helps || overtime > best.overtime) return;
        if (overtime < best.overtime || cost < best.cost) best = {overtime, cost, group.tasks, to};
    }

    SearchState& state_;
    const Problem& problem_;
};

}  // namespace

void mend_memory(SearchState& state, const TimeLimit& limit) {
    if (!state.core_memory() || state.memory_excess() == 0.0) return;
    MemoryRepair repair(state);
    for (Core c = 0; c < state.problem().cores(); ++c) {
        while (state.core_memory()->excess(c) > 0.0 && !limit.over() && repair.relieve(c)) {
        }
    }
}

}  // namespace numascape::balance
