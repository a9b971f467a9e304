// SPDX-License-Identifier: Apache-2.0
//
// The mapping of a search, with metrics that are updated when items move.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "algorithms.h"
#include "core_memory.h"
#include "level.h"
#include "problem.h"

namespace numascape::balance {

// The objective and the caps of the search, in the units of communication cost.
struct Goal {
    double longest = INFINITY;  // seconds: no core may take longer
    double communication_weight = 1.0;
    double price = 0.0;       // of a migrated task
    double byte_price = 0.0;  // of a migrated byte
    double max_communication = INFINITY;
    double max_migrations = INFINITY;
    double max_migrated_bytes = INFINITY;
};

// `options` for this problem: NaN is replaced, and the bound on time is never below the time that a
// single task or a core needs.
Goal search_goal(const Problem& problem, const Options& options);

class SearchState {
  public:
    SearchState(const Problem& problem, const Level& level, const Goal& goal, Mapping mapping);

    const Mapping& mapping() const { return mapping_; }
    const Level& level() const { return level_; }
    const Problem& problem() const { return problem_; }
    const Goal& goal() const { return goal_; }
    double time(Core c) const { return times_[c]; }
    double item_time(Task t, Core c) const { return level_.load[t] / problem_.speed(c); }
    bool at_home(Task t) const { return mapping_[t] == level_.home[t]; }
    bool fits(Task t, Core c) const {
        return times_[c] + item_time(t, c) <= goal_.longest * (1.0 + 1e-12) &&
               memory_fits(t, problem_.node(c)) && core_memory_fits(t, c);
    }
    // Memory of cores is known for single tasks only: coarser levels take no notice of it.
    bool core_memory_fits(Task t, Core c) const {
        return !core_memory_ || c == mapping_[t] || core_memory_->fits(std::array{t}, c);
    }
    const std::optional<CoreMemory>& core_memory() const { return core_memory_; }
    bool memory_fits(Task t, Node n) const {
        return n == problem_.node(mapping_[t]) ||
               memory_[n] + level_.memory[t] <= problem_.node_memory(n);
    }
    // Bytes of a node's tasks beyond its memory, or beyond what they need there now if that is
    // more.
    double node_memory_excess(Node n) const {
        return allowed_memory_.empty() ? 0.0 : beyond(n, memory_[n]);
    }
    bool too_long(Core c) const { return times_[c] > goal_.longest * (1.0 + 1e-12); }

    // The change by the move alone: communication, and the cost of migration (negative for a move
    // home).
    double communication_change(Task t, Core to) const;
    double price_change(Task t, Core to) const;
    double change(Task t, Core to) const {
        return goal_.communication_weight * communication_change(t, to) + price_change(t, to);
    }
    double price(Task t) const {
        return goal_.price * level_.count[t] + goal_.byte_price * level_.bytes[t];
    }

    void move(Task t, Core to) { move(t, to, communication_change(t, to)); }
    void move(Task t, Core to, double communication_change);

    // The objective.
    double cost() const { return goal_.communication_weight * communication_ + paid_; }
    // The excess over the caps: seconds for cores that take too long, shares for the other caps.
    double overtime() const { return overtime_; }
    double excess() const;
    // The same for the caps on migrations, which staying at home always keeps.
    double migration_excess() const;
    // Bytes of cores and nodes beyond their limits, as a share of all limits.
    double memory_excess() const;
    double communication() const { return communication_; }
    double migrations() const { return migrations_; }
    double migrated_bytes() const { return migrated_bytes_; }

  private:
    double over(double time) const { return time > goal_.longest ? time - goal_.longest : 0.0; }
    double beyond(Node n, double bytes) const {
        const double allowed = allowed_memory_[n];
        return bytes > allowed * (1.0 + 1e-12) ? bytes - allowed : 0.0;
    }
    void limit_nodes();
    void total_up();

    const Problem& problem_;
    const Level& level_;
    const Goal goal_;
    Mapping mapping_;
    std::vector<double> times_, memory_;
    std::optional<CoreMemory> core_memory_;
    double all_core_memory_ = 0.0;
    std::vector<double> allowed_memory_;  // of nodes; empty: unlimited
    double all_node_memory_ = 0.0, node_excess_ = 0.0;
    double communication_ = 0.0, paid_ = 0.0, overtime_ = 0.0;
    double migrations_ = 0.0, migrated_bytes_ = 0.0;
};

// Whether a is better: caps on migrations have priority, then memory of cores, then the other caps,
// then the lower cost.
bool better(const SearchState& a, const SearchState& b);

}  // namespace numascape::balance
