// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "refinement.h"

namespace numascape::balance {

namespace {

// Tasks that leave together.
using Group = std::vector<Task>;

class MemoryRepair {
  public:
    explicit MemoryRepair(SearchState& state)
        : state_(state), problem_(state.problem()), on_core_(problem_.cores()) {
        for (Task t = 0; t < problem_.tasks(); ++t) on_core_[state.mapping()[t]].push_back(t);
    }

    // Moves groups away from the core, the best moves first, until it keeps its limit; false if no
    // group can leave.
    bool relieve(Core from) {
        std::vector<Choice> choices;
        for (Group& group : groups(from)) {
            Choice choice = best(std::move(group), from);
            if (choice.to != kNone) choices.push_back(std::move(choice));
        }
        std::ranges::stable_sort(choices, {}, [](const Choice& choice) {
            return std::pair(choice.overtime, choice.cost);
        });
        bool moved = false;
        for (Choice& choice : choices) {
            if (state_.core_memory()->excess(from) == 0.0) break;
            // Other cores have less room than before the first move.
            if (moved) choice = best(std::move(choice.tasks), from);
            if (choice.to == kNone) continue;
            for (Task t : choice.tasks) {
                state_.move(t, choice.to);
                on_core_[choice.to].push_back(t);
            }
            moved = true;
        }
        std::erase_if(on_core_[from], [&](Task t) { return state_.mapping()[t] != from; });
        return moved;
    }

  private:
    static constexpr Core kNone = ~Core{0};
    struct Choice {
        double overtime = INFINITY, cost = INFINITY;
        Group tasks;
        Core to = kNone;
    };

    // The best core for tasks that leave together.
    Choice best(Group tasks, Core from) {
        Choice found;
        const double before = state_.core_memory()->excess(from);
        for (Core to = 0; to < problem_.cores(); ++to) {
            if (to != from && room(tasks, to)) consider(tasks, from, to, before, found);
        }
        found.tasks = std::move(tasks);
        return found;
    }

    // The movable tasks of the core: those of a block are one group. A task without a block is
    // alone. A block with a fixed task stays on the core, so its other tasks are alone, too.
    std::vector<Group> groups(Core c) const {
        std::map<Block, Group> sharers;
        std::vector<Group> result;
        for (Task t : on_core_[c]) {
            if (problem_.fixed(t)) continue;
            if (problem_.block(t) == kNoBlock) {
                result.push_back({t});
            } else {
                sharers[problem_.block(t)].push_back(t);
            }
        }
        for (auto& [block, group] : sharers) {
            const bool whole = group.size() == state_.core_memory()->sharers(group.front(), c);
            if (whole) {
                result.push_back(std::move(group));
            } else {
                for (Task t : group) result.push_back({t});
            }
        }
        return result;
    }

    bool room(const Group& tasks, Core to) const {
        double migrations = state_.migrations();
        for (Task t : tasks) {
            migrations += state_.at_home(t);
        }
        return migrations <= state_.goal().max_migrations &&
               state_.core_memory()->fits(tasks, to) &&
               (tasks.size() > 1 || state_.memory_fits(tasks.front(), problem_.node(to)));
    }

    // The effect of the move, which is made and reverted.
    void consider(const Group& tasks, Core from, Core to, double before, Choice& best) {
        for (Task t : tasks) state_.move(t, to);
        const bool helps = state_.core_memory()->excess(from) < before &&
                           state_.migrated_bytes() <= state_.goal().max_migrated_bytes;
        const double overtime = state_.overtime(), cost = state_.cost();
        for (Task t : tasks) state_.move(t, from);
        if (!helps || overtime > best.overtime) return;
        if (overtime < best.overtime || cost < best.cost) {
            best.overtime = overtime, best.cost = cost, best.to = to;
        }
    }

    SearchState& state_;
    const Problem& problem_;
    std::vector<std::vector<Task>> on_core_;
};

// Moves items away from nodes whose memory is exceeded. Items whose move costs least per byte are
// moved first.
class NodeMemoryRepair {
  public:
    explicit NodeMemoryRepair(SearchState& state) : state_(state), problem_(state.problem()) {}

    void relieve(Node n, const TimeLimit& limit) {
        std::vector<std::pair<double, Task>> candidates;
        for (Task t = 0; t < state_.level().size(); ++t) {
            const Core here = state_.mapping()[t];
            if (problem_.node(here) != n || state_.level().fixed[t]) continue;
            const Core to = best(t);
            if (to != here) candidates.push_back({state_.change(t, to) / memory(t), t});
        }
        std::ranges::sort(candidates);
        for (const auto& [price, t] : candidates) {
            if (state_.node_memory_excess(n) == 0.0 || limit.over()) return;
            state_.move(t, best(t));
        }
    }

  private:
    double memory(Task t) const { return state_.level().memory[t]; }

    // The core with room on another node: one that would not take too long, if there is any, and
    // the cheapest of those. The item's own core if there is none.
    Core best(Task t) const {
        const Core here = state_.mapping()[t];
        Core found = here;
        double overtime = INFINITY, cost = INFINITY;
        if (memory(t) <= 0.0 || !may_leave(t, here)) return found;
        for (Node n = 0; n < problem_.nodes(); ++n) {
            if (n == problem_.node(here) || problem_.cores_of(n).empty()) continue;
            if (!state_.memory_fits(t, n)) continue;
            const auto cores = problem_.cores_of(n);
            const Core to = *std::ranges::min_element(
                cores, {}, [&](Core c) { return state_.time(c) + state_.item_time(t, c); });
            const double late =
                std::max(0.0, state_.time(to) + state_.item_time(t, to) - state_.goal().longest);
            if (late > overtime || !state_.core_memory_fits(t, to)) continue;
            const double change = state_.change(t, to);
            if (late < overtime || change < cost) found = to, overtime = late, cost = change;
        }
        return found;
    }

    bool may_leave(Task t, Core here) const {
        const Goal& goal = state_.goal();
        return here != state_.level().home[t] ||
               (state_.migrations() + state_.level().count[t] <= goal.max_migrations &&
                state_.migrated_bytes() + state_.level().bytes[t] <= goal.max_migrated_bytes);
    }

    SearchState& state_;
    const Problem& problem_;
};

}  // namespace

void mend_memory(SearchState& state, const TimeLimit& limit) {
    if (state.memory_excess() == 0.0) return;
    for (Node n = 0; n < state.problem().nodes(); ++n) {
        if (state.node_memory_excess(n) > 0.0) NodeMemoryRepair(state).relieve(n, limit);
    }
    if (!state.core_memory() || state.memory_excess() == 0.0) return;
    MemoryRepair repair(state);
    for (Core c = 0; c < state.problem().cores(); ++c) {
        while (state.core_memory()->excess(c) > 0.0 && !limit.over() && repair.relieve(c)) {
        }
    }
}

}  // namespace numascape::balance
