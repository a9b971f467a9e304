// SPDX-License-Identifier: Apache-2.0
//
// The balancers. Each is a function from a problem to a mapping, deterministic for a seed. Its
// source file names the paper that it is from.
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "problem.h"

namespace numascape::balance {

constexpr double kUsualImbalance = 1.05;

enum class Direction { sent, sent_and_received };

struct Options {
    // Weight of communication against load; NaN: chosen from the problem (node_messages.h).
    double alpha = NAN;
    // Which messages of a task NumaLB and NucoLB count.
    Direction direction = Direction::sent;
    // The time of the slowest core, divided by the time with perfect balance. Partitioners aim at
    // it; it is a hard cap of the incumbent-aware search. NaN: 1.05; for the search, the value that
    // Greedy reaches if that is larger.
    double max_imbalance = NAN;
    // Caps that only the incumbent-aware search keeps.
    double max_migrations = INFINITY;
    double max_migrated_bytes = INFINITY;
    double max_communication = INFINITY;
    // What a migration costs once, in units of communication cost. NaN: the mean communication cost
    // of a task. The second value is the same for each byte that the migration moves.
    double migration_price = NAN;
    double byte_price = 0.0;
    // Iterations until the next balance. A migration that balance does not need must have saved its
    // price by then.
    double iterations = 1.0;
    // The weight of communication cost against the price of migrations; 0: only the caps count.
    double communication_weight = 1.0;
    // A factor on the work of the search: with more work, it tries more mappings.
    double effort = 1.0;
    // Seconds of wall time after which the search ends with what it has: its result then depends on
    // the machine.
    double time_limit = INFINITY;
    // METIS: passes of its refinement on each level; 10 is its own default.
    int metis_passes = 10;
    // METIS: partitions of which it takes the one with the least communication.
    int metis_cuts = 1;
    // Scotch: only recursive bipartitioning, without a refinement of all parts.
    bool scotch_recursive = false;
    unsigned threads = 1;
    std::uint64_t seed = 1;
    // The names of the mappings from which the search starts (starts.h); empty: chosen.
    std::vector<std::string> starts;
    // Another mapping, from which the search also starts; it must outlive the call.
    const Mapping* start = nullptr;
};

inline double aimed_imbalance(const Options& options) {
    return std::isnan(options.max_imbalance) ? kUsualImbalance : options.max_imbalance;
}

Mapping greedy(const Problem& problem, const Options& options);
Mapping greedy_refine(const Problem& problem, const Options& options);
Mapping numa_lb(const Problem& problem, const Options& options);
Mapping hierarchical_numa_lb(const Problem& problem, const Options& options);
Mapping nuco_lb(const Problem& problem, const Options& options);
Mapping hw_topo_lb(const Problem& problem, const Options& options);
Mapping rec_bipart(const Problem& problem, const Options& options);
Mapping metis(const Problem& problem, const Options& options);
Mapping scotch_map(const Problem& problem, const Options& options);
Mapping scotch_remap(const Problem& problem, const Options& options);
Mapping incumbent_search(const Problem& problem, const Options& options);

// What the search minimises, the most important first: the excess over the caps on migrations, over
// the memory of cores, and over the other caps (as shares of each cap; 0: not exceeded). The last
// one is the cost of communication and migrations.
struct Objective {
    double migration_excess, memory_excess, excess, cost;
};
Objective objective(const Problem& problem, const Mapping& mapping, const Options& options);

// The mapping with tasks moved away from cores whose memory is exceeded, as far as `options` allow
// migrations and others have room. Throws BalanceError if no mapping can keep the limits.
Mapping keep_core_memory(const Problem& problem, const Mapping& mapping, const Options& options);

// The Pareto-optimal mappings (by imbalance, communication cost and migrations) of searches with
// many prices and bounds on imbalance. Ordered by migrations, the fewest first.
std::vector<Mapping> pareto_front(const Problem& problem, const Options& options);

struct Algorithm {
    const char* name;
    const char* description;
    Mapping (*run)(const Problem&, const Options&);
};

// All of them, in the order in which tables list them.
std::span<const Algorithm> algorithms();
// Throws BalanceError if there is no algorithm of this name.
const Algorithm& algorithm(std::string_view name);

}  // namespace numascape::balance
