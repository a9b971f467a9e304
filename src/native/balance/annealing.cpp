// SPDX-License-Identifier: Apache-2.0
#include "annealing.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace numascape::balance {

namespace {

// The last temperature, relative to the first.
constexpr double kEnd = 1e-3;
// The temperature changes in this many steps.
constexpr std::uint64_t kStages = 200;
constexpr double kShareOfTime = 0.8;

class Annealing {
  public:
    Annealing(SearchState& state, Random& random)
        : state_(state),
          level_(state.level()),
          problem_(state.problem()),
          random_(random),
          on_core_(problem_.cores()),
          place_(level_.size()) {
        double load = 0.0;
        for (Task t = 0; t < level_.size(); ++t) {
            if (level_.fixed[t]) continue;
            movable_.push_back(t);
            typical_ += state.price(t);
            load += level_.load[t];
            put(t, state.mapping()[t]);
        }
        const double items = double(std::max<std::size_t>(1, movable_.size()));
        const double communication = state.communication() / items;
        const double price = typical_ / items;
        typical_ = price + state.goal().communication_weight * communication;
        per_second_ = load > 0.0 ? 4.0 * typical_ * items / load : 0.0;
        // The penalty for memory reaches the cost of a typical move when the limits are exceeded by
        // a thousandth of the memory.
        per_memory_ = state.core_memory() ? 1000.0 * typical_ : 0.0;
        per_communication_ = communication > 0.0 ? 4.0 * typical_ / communication : 0.0;
    }

    void run(const Cooling& cooling, const TimeLimit& limit) {
        if (movable_.empty() || problem_.cores() < 2 || typical_ <= 0.0) return;
        const double used_before = limit.used();
        const auto stage_by_time = [&] {
            const double own = std::max(1e-9, kShareOfTime - used_before);
            return std::uint64_t(double(kStages) * (limit.used() - used_before) / own);
        };
        for (std::uint64_t stage = 0; stage < kStages;
             stage = std::max(stage + 1, stage_by_time())) {
            const double done = double(stage) / double(kStages - 1);
            temperature_ = cooling.start * typical_ * std::pow(kEnd, done);
            // Penalties grow from 1 to 30 times, so that the search ends within the caps.
            strictness_ = std::pow(30.0, done);
            for (std::uint64_t i = 0; i < cooling.steps / kStages; ++i) {
                propose();
                if (i % 256 == 255 && limit.limited() && stage_by_time() > stage) break;
            }
        }
    }

  private:
    void put(Task t, Core c) {
        place_[t] = std::uint32_t(on_core_[c].size());
        on_core_[c].push_back(t);
    }
    void take(Task t, Core c) {
        auto& here = on_core_[c];
        here[place_[t]] = here.back();
        place_[here.back()] = place_[t];
        here.pop_back();
    }

    void propose() {
        const Task t = movable_[random_.below(movable_.size())];
        const Core from = state_.mapping()[t], to = target(t);
        if (from == to) return;
        if (state_.core_memory() && problem_.block(t) != kNoBlock && random_.below(4) == 0) {
            move_sharers(t, from, to);
            return;
        }
        if (!on_core_[to].empty() && random_.below(5) < 2) {
            const Task u = on_core_[to][random_.below(on_core_[to].size())];
            exchange(t, from, u, to);
            return;
        }
        const double before = energy(), moved = state_.migration_excess();
        const double change = state_.communication_change(t, to);
        if (!state_.memory_fits(t, problem_.node(to))) return;
        state_.move(t, to, change);
        if (state_.migration_excess() <= moved && accept(energy() - before)) {
            take(t, from);
            put(t, to);
        } else {
            state_.move(t, from, -change);
        }
    }

    // Moves all tasks of the core that share the task's block, because otherwise the core's memory
    // does not shrink.
    void move_sharers(Task t, Core from, Core to) {
        const double before = energy(), moved = state_.migration_excess();
        sharers_.clear();
        for (Task u : on_core_[from]) {
            if (problem_.block(u) == problem_.block(t)) sharers_.push_back(u);
        }
        for (Task u : sharers_) state_.move(u, to);
        if (state_.migration_excess() <= moved && accept(energy() - before)) {
            for (Task u : sharers_) take(u, from), put(u, to);
        } else {
            for (Task u : sharers_) state_.move(u, from);
        }
    }

    void exchange(Task t, Core from, Task u, Core to) {
        const double before = energy(), moved = state_.migration_excess();
        const double first = state_.communication_change(t, to);
        state_.move(t, to, first);
        const double second = state_.communication_change(u, from);
        if (state_.memory_fits(u, problem_.node(from))) {
            state_.move(u, from, second);
            if (state_.migration_excess() <= moved && accept(energy() - before)) {
                take(t, from), take(u, to);
                put(t, to), put(u, from);
                return;
            }
            state_.move(u, to, -second);
        }
        state_.move(t, from, -first);
    }

    Core target(Task t) {
        const Core home = level_.home[t], here = state_.mapping()[t];
        const std::uint32_t kind = random_.below(10);
        if (kind < 3 && here != home) return home;
        const auto begin = level_.graph.offsets[t], end = level_.graph.offsets[t + 1];
        if (kind < 7 && begin != end) {
            const Task u = level_.graph.neighbour[begin + random_.below(end - begin)];
            if (kind < 5) return state_.mapping()[u];
            const auto cores = problem_.cores_of(problem_.node(state_.mapping()[u]));
            return cores[random_.below(cores.size())];
        }
        return random_.below(problem_.cores());
    }

    double energy() const {
        const Goal& goal = state_.goal();
        const auto beyond = [](double value, double cap) {
            return value > cap ? value - cap : 0.0;
        };
        const double excess =
            per_memory_ * state_.memory_excess() + per_second_ * state_.overtime() +
            per_communication_ * beyond(state_.communication(), goal.max_communication);
        return state_.cost() + strictness_ * excess;
    }

    bool accept(double change) {
        return change <= 0.0 || random_.share() < std::exp(-change / temperature_);
    }

    SearchState& state_;
    const Level& level_;
    const Problem& problem_;
    Random& random_;
    std::vector<Task> movable_;
    std::vector<std::vector<Task>> on_core_;  // movable items
    std::vector<std::uint32_t> place_;        // position of an item in on_core_ of its core
    double typical_ = 0.0, per_second_ = 0.0, per_communication_ = 0.0, per_memory_ = 0.0;
    std::vector<Task> sharers_;
    double temperature_ = 0.0, strictness_ = 1.0;
};

}  // namespace

void anneal(SearchState& state, const Cooling& cooling, Random& random, const TimeLimit& limit) {
    Annealing(state, random).run(cooling, limit);
}

}  // namespace numascape::balance
